"""Services around the operating system (workers, files, arguments, messages), which know nothing about tokenizers.

Read workers.py and atomic_files.py first.

Workers: processes and threads
workers.py             jobs in worker processes or threads: which of the two, and how many
worker_processes.py    runs jobs in processes
worker_threads.py      runs jobs in threads
job.py                 what a job is, and how one runs without a worker
processors.py          how many processors this process may use
part_joiner.py         concatenates parts, which may end in any order, in order
executors.py           runs tasks on an executor of the user's
kernel_threads.py      runs kernels in threads
starting.py            starts a thread so that Ctrl-C comes before or after
waiting.py             waits for threads so that Ctrl-C ends the wait
signals_later.py       delays the handling of signals for a moment
stopping.py            Ctrl-C as a request to stop early and keep the results

Files
atomic_files.py        atomic writes: a file appears under its name when it is complete
scratch.py             scratch folders for unfinished files, which are always removed
kept_folder.py         a folder from which a later run resumes
paths.py               types of paths, and whether a file can be read
links.py               the file behind a symlink
beside_ids.py          the names of files beside a file of ids
read_numbers.py        numbers read from an open file
git_lfs.py             detects pointers of Git LFS in the place of large files
utf16.py               detects UTF-16 where UTF-8 is expected

Arguments and messages
arguments.py           how messages name arguments
choices.py             checks an argument that is one of a few names, or a bool
integers.py            checks an argument that is an integer
byte_sizes.py          reads an argument that is a number of bytes, such as "4GB"
memory_limits.py       limits of memory: the user's and the machine's
wrong_argument.py      the error for an argument that is invalid
excerpt.py             values, names and tokens in messages, cut to a length
user_warnings.py       warnings that name the user's line
progress.py            progress of long work

For all modules
control_groups.py      the control groups of this process, which limit processors and memory
lazy.py                attributes that are computed, and modules that are imported, on first use
stretches.py           offsets and copies of many stretches of an array, without a loop
"""
