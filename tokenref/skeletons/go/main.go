// An engine that tokenref can judge. Put your own code where it says YOUR CODE.
//
// tokenref writes one JSON message per line to standard input. Answer each with one line on
// standard output. Print anything else to standard error.
package main

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"sort"
	"strconv"
	"strings"
)

// profiles are the operations that this engine has, and the rules that it follows in each.
var profiles = map[string][]string{
	"encode": {"definition", "tiktoken"},
	"top_k":  {"standard"},
}

const longest = 2000 // bytes of the longest text: the example takes quadratic time

// refused is a question that has no answer: a code from fixtures/README.md, and a message.
type refused struct{ code, message string }

func (r refused) Error() string { return r.code + ": " + r.message }

// skipped is why this engine cannot be asked a question.
type skipped struct{ reason string }

func (s skipped) Error() string { return s.reason }

type vocabulary struct {
	ids        map[string]json.Number // by bytes; an id may have 64 bits
	ranks      map[string]uint64
	wholePiece bool
}

// ---- YOUR CODE: the two functions below are examples. Call your own engine instead. ----

// encode returns the tokens of a text. Of all neighbours, the lowest rank is merged first, the
// leftmost of equals.
func encode(vocab *vocabulary, text string) ([]json.Number, error) {
	if id, known := vocab.ids[text]; known && vocab.wholePiece {
		return []json.Number{id}, nil
	}
	parts := make([]string, len(text))
	for at := range parts {
		parts[at] = text[at : at+1]
		if _, known := vocab.ids[parts[at]]; !known {
			return nil, refused{"MISSING_BYTE", fmt.Sprintf("no token is the byte %02x", text[at])}
		}
	}
	for {
		best, lowest := -1, uint64(0)
		for at := 0; at+1 < len(parts); at++ {
			rank, known := vocab.ranks[parts[at]+parts[at+1]]
			if known && (best < 0 || rank < lowest) {
				best, lowest = at, rank
			}
		}
		if best < 0 {
			break
		}
		parts[best] += parts[best+1]
		parts = append(parts[:best+1], parts[best+2:]...)
	}
	ids := make([]json.Number, len(parts)) // never nil, which JSON would show as null
	for at, part := range parts {
		ids[at] = vocab.ids[part]
	}
	return ids, nil
}

// topK returns the k tokens of the largest number; of equals, those of the lowest ids.
func topK(row []float64, impossible float64, k int64) []int {
	ids := make([]int, 0, len(row))
	for token, number := range row {
		if number > impossible {
			ids = append(ids, token)
		}
	}
	sort.SliceStable(ids, func(a, b int) bool { return row[ids[a]] > row[ids[b]] })
	if int64(len(ids)) > k {
		ids = ids[:k]
	}
	sort.Ints(ids)
	return ids
}

// ---- What follows is the protocol. It rarely needs a change. ----

type object = map[string]any

// decode reads JSON and keeps numbers as they are written, so that no digit of an id is lost.
func decode(data []byte, value any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	return decoder.Decode(value)
}

// must returns a value, or panics: what tokenref sends has this form.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// readVocabulary reads a vocabulary file, or says why this engine cannot use it.
func readVocabulary(path string) (*vocabulary, error) {
	var plain object
	if err := decode(must(os.ReadFile(path)), &plain); err != nil {
		panic(err)
	}
	for name, only := range (object{"rule": "concatenation", "pattern": nil, "normalization": nil}) {
		if plain[name] != only {
			return nil, skipped{fmt.Sprintf("has no %s %v", name, plain[name])}
		}
	}
	vocab := &vocabulary{map[string]json.Number{}, map[string]uint64{}, plain["whole_piece"] == true}
	for _, each := range plain["tokens"].([]any) {
		token := each.([]any)
		content := readHex(token[0].(string))
		vocab.ids[content] = token[1].(json.Number)
		vocab.ranks[content] = must(strconv.ParseUint(token[2].(json.Number).String(), 10, 64))
	}
	return vocab, nil
}

func readHex(digits string) string { return string(must(hex.DecodeString(digits))) }

// readText returns the bytes of a text, which is given in one of three ways.
func readText(question object) (string, error) {
	var text string
	if given, known := question["text"].(string); known {
		text = given
	} else if digits, known := question["bytes"].(string); known {
		text = readHex(digits)
	} else {
		recipe := question["recipe"].(object)
		part := func(name string) string { return readHex(recipe[name].(string)) }
		unit, times := part("unit"), must(recipe["times"].(json.Number).Int64())
		if len(unit) > 0 && times > longest/int64(len(unit)) {
			return "", skipped{fmt.Sprintf("takes no text of more than %d bytes", longest)}
		}
		text = part("before") + strings.Repeat(unit, int(times)) + part("after")
	}
	if len(text) > longest {
		return "", skipped{fmt.Sprintf("takes no text of more than %d bytes", longest)}
	}
	return text, nil
}

// readFloats returns the numbers of a row: big-endian hexadecimal digits, or a recipe for them.
func readFloats(floats object) []float64 {
	if _, generated := floats["gen"]; !generated {
		for dtype, digits := range floats {
			return fromDigits(dtype, digits.(string))
		}
		panic("no numbers")
	}
	whole := func(name string) uint64 { return uint64(must(floats[name].(json.Number).Int64())) }
	dtype := floats["dtype"].(string)
	step := map[string]float64{"f64": 0x1p-20, "f32": 0x1p-20, "f16": 0x1p-7, "bf16": 0x1p-4}[dtype]
	state := must(strconv.ParseUint(strings.TrimPrefix(floats["seed"].(string), "0x"), 16, 64))
	row := make([]float64, whole("n"))
	for place := range row {
		state += 0x9e3779b97f4a7c15 // SplitMix64
		word := (state ^ state>>30) * 0xbf58476d1ce4e5b9
		word = (word ^ word>>27) * 0x94d049bb133111eb
		row[place] = float64((word^word>>31)%whole("span")) * step
	}
	puts, _ := floats["put"].([]any)
	for _, each := range puts {
		put := each.([]any)
		row[must(put[0].(json.Number).Int64())] = fromDigits(dtype, put[1].(string))[0]
	}
	return row
}

func fromDigits(dtype, digits string) []float64 {
	size := map[string]int{"f64": 8, "f32": 4, "f16": 2, "bf16": 2}[dtype]
	content := readHex(digits)
	row := make([]float64, 0, len(content)/size)
	for ; len(content) > 0; content = content[size:] {
		var bits uint64
		for _, each := range []byte(content[:size]) {
			bits = bits<<8 | uint64(each)
		}
		switch dtype {
		case "f64":
			row = append(row, math.Float64frombits(bits))
		case "f32":
			row = append(row, float64(math.Float32frombits(uint32(bits))))
		case "bf16": // the upper half of an f32
			row = append(row, float64(math.Float32frombits(uint32(bits)<<16)))
		default:
			row = append(row, half(bits))
		}
	}
	return row
}

// half returns the number that the 16 bits of an IEEE half stand for.
func half(bits uint64) float64 {
	exponent, fraction := int(bits>>10&0x1f), float64(bits&0x3ff)
	number := math.Ldexp(1024+fraction, exponent-25)
	switch {
	case exponent == 0:
		number = math.Ldexp(fraction, -24)
	case exponent == 0x1f && fraction == 0:
		number = math.Inf(1)
	case exponent == 0x1f:
		return math.NaN()
	}
	if bits&0x8000 != 0 {
		return -number
	}
	return number
}

// readCount returns a whole number from 1. More than 63 bits are as good as all tokens.
func readCount(value any) (int64, bool) {
	number, known := value.(json.Number)
	if !known {
		return 0, false
	}
	count, err := strconv.ParseInt(number.String(), 10, 64)
	return count, count >= 1 && (err == nil || errors.Is(err, strconv.ErrRange))
}

func answerTopK(question object) (any, error) {
	floats, ofLogits := question["logits"].(object)
	lowest := math.Inf(-1)
	if !ofLogits {
		floats, lowest = question["probs"].(object), 0
	}
	row, possible := readFloats(floats), false
	for _, number := range row {
		if !(lowest <= number && number < math.Inf(1)) { // NaN is neither
			return nil, refused{"INVALID_ROW", "a number is not allowed"}
		}
		possible = possible || number > lowest
	}
	if !possible {
		return nil, refused{"INVALID_ROW", "no token is possible"}
	}
	params := question["params"].(object)
	k, isCount := readCount(params["k"])
	least := int64(1)
	if given, known := params["least"]; known {
		var isLeast bool
		least, isLeast = readCount(given)
		isCount = isCount && isLeast
	}
	if !isCount {
		return nil, refused{"INVALID_PARAMETER", "k must be a whole number from 1"}
	}
	return object{"keep": topK(row, lowest, max(k, least))}, nil
}

// answer returns the answer of one case.
func answer(op string, question object, vocab *vocabulary) (any, error) {
	switch op {
	case "encode":
		if vocab == nil {
			return nil, skipped{"no vocabulary is loaded"}
		}
		text, err := readText(question)
		if err != nil {
			return nil, err
		}
		ids, err := encode(vocab, text)
		return object{"ids": ids}, err
	case "top_k":
		return answerTopK(question)
	}
	return nil, skipped{"has no operation " + op}
}

// guarded returns what became of a call: exactly one of ok, err, skip, crash.
func guarded(call func() (any, error)) (result object) {
	defer func() {
		if failure := recover(); failure != nil {
			result = object{"crash": object{"msg": fmt.Sprint(failure)}}
		}
	}()
	value, err := call()
	var refusal refused
	var skip skipped
	switch {
	case err == nil:
		return object{"ok": value}
	case errors.As(err, &refusal):
		return object{"err": object{"code": refusal.code, "msg": refusal.message}}
	case errors.As(err, &skip):
		return object{"skip": object{"reason": skip.reason}}
	}
	panic(err)
}

func hello() object {
	ops := object{}
	for op, rules := range profiles {
		ops[op] = object{"profiles": rules}
	}
	impl := object{"name": "my-engine", "version": "0.1", "language": "go"}
	return object{"proto": 1, "impl": impl, "ops": ops}
}

func run(message object, vocab *vocabulary) object {
	results := []object{}
	for _, each := range message["cases"].([]any) {
		one := each.(object)
		result := guarded(func() (any, error) {
			return answer(message["op"].(string), one["in"].(object), vocab)
		})
		result["k"] = one["k"]
		results = append(results, result)
	}
	return object{"id": message["id"], "results": results}
}

func main() {
	input, output := bufio.NewReader(os.Stdin), bufio.NewWriter(os.Stdout)
	var name any
	var vocab *vocabulary // only the last one is kept
	for {
		line, err := input.ReadBytes('\n')
		if err == io.EOF && len(line) == 0 {
			return
		}
		var message object
		if err := decode(line, &message); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		var reply object
		switch message["cmd"] {
		case "hello":
			reply = hello()
		case "load":
			name, vocab = message["vocab"], nil
			reply = guarded(func() (any, error) {
				var err error
				vocab, err = readVocabulary(message["path"].(string))
				return object{}, err
			})
			reply["id"] = message["id"]
		case "run":
			if message["vocab"] == name {
				reply = run(message, vocab)
			} else {
				reply = run(message, nil)
			}
		default: // bye
			return
		}
		output.Write(must(json.Marshal(reply)))
		output.WriteByte('\n')
		output.Flush() // without this, tokenref waits for ever
	}
}
