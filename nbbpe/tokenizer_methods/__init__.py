"""The methods of Tokenizer, one class for each subject; `Tokenizer`, in ../tokenizer.py, inherits from all of them.

Read data.py first, on which all others build, then encoding.py. batches.py encodes many texts, and decoding.py turns ids
into text; files.py reads and writes tokenizer files, and vocabulary.py makes a tokenizer with another vocabulary.
tiktoken_names.py has tiktoken's names for some of these methods, and names_of_other_libraries.py the errors that say what
other libraries' names are called here.
"""
