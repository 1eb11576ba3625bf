"""What changes a text before it is cut, one file per kind of component.

Each class has the fields of the file format, and two methods that say the same: `normalize` keeps
account of where each character comes from, `normalize_text` does not and is quicker.

A class with a property `may_insert_first` that is true can make the first character stand for
nothing in the original; what comes after it must then be given the aligned text, as `AlignedText`
explains.
"""
