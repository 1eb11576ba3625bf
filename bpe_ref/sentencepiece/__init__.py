"""SentencePiece models of type BPE: byte-pair encoding over characters, with scores."""
