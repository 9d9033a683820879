/** Where a command of the gateway's host prints. */
export interface Say {
  out(line: string): void;
  err(line: string): void;
}

export const standardStreams: Say = {
  out: (line) => void process.stdout.write(`${line}\n`),
  err: (line) => void process.stderr.write(`${line}\n`),
};

/** Prints one line per error and returns the exit code 1 (OP-51). */
export function sayAll({ err }: Say, lines: readonly string[]): number {
  lines.forEach(err);
  return 1;
}
