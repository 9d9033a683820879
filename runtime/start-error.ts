/** Why a process cannot start; each line goes to stderr, and the exit code is 1 (OP-51). */
export class StartError extends Error {
  readonly lines: readonly string[];

  constructor(...lines: string[]) {
    super(lines.join('\n'));
    this.name = 'StartError';
    this.lines = lines;
  }
}
