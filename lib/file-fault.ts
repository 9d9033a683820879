/** Why a file cannot be read or written, in words; else the code of the system. */
export function fileFault(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException;
  return code === undefined ? 'unknown reason' : (words[code] ?? code);
}

const words: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EEXIST: 'it is there already',
  EISDIR: 'it is a folder',
  ELOOP: 'too many symbolic links',
  ENAMETOOLONG: 'the name is too long',
  ENOENT: 'no such file or folder',
  ENOSPC: 'the disk is full',
  ENOTDIR: 'a file stands where a folder should be',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
};
