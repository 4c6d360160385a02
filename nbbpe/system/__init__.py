"""Services of the system, which know nothing of text or of tokenizers.

Read workers.py and atomic_files.py first.

Workers: processes and threads
workers.py             jobs in worker processes or threads: which of the two, and how many
worker_processes.py    jobs in processes
worker_threads.py      jobs in threads
job.py                 what a job is, and how one runs without a worker
processors.py          how many processors this process may use
part_joiner.py         results that end in any order, joined in order
executors.py           tasks on an executor of the user's
kernel_threads.py      threads for kernels
starting.py            starts a thread so that Ctrl-C comes before or after
waiting.py             waits for threads so that Ctrl-C ends the wait
signals_later.py       signals that are answered a moment later
stopping.py            Ctrl-C as a request to stop early and keep the results

Files
atomic_files.py        a file appears under its name when it is complete
scratch.py             scratch folders for unfinished files, which are always removed
kept_folder.py         a folder that another run goes on from
paths.py               types of paths, and whether a file can be read
links.py               the file behind a symlink
beside_ids.py          the names of files beside a file of ids
read_numbers.py        numbers read from an open file
git_lfs.py             pointers that stand in the place of large files
utf16.py               files in UTF-16, where UTF-8 is read

Arguments and messages
arguments.py           arguments as messages name them
choices.py             those that are one of a few names, or True or False
integers.py            those that are integers
byte_sizes.py          those that are numbers of bytes, as "4GB"
memory_limits.py       limits of memory: the user's and the machine's
wrong_argument.py      the error for an argument that is invalid
excerpt.py             values, names and tokens in messages, cut to a length
user_warnings.py       warnings that name the user's line
progress.py            progress of long work

For all modules
control_groups.py      the control groups of this process, which limit processors and memory
lazy.py                attributes that are computed, and modules that are imported, on first use
stretches.py           stretches of an array, one after another, without a loop
"""
