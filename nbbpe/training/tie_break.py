"""The names of the rules by which training chooses among pairs of equal count; `nbbpe.train` says what each does."""

TIE_BREAKS = ("bytes", "ids", "huggingface")
