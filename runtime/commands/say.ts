/** Where a command of the gateway's host prints. */
export interface Say {
  out(line: string): void;
  err(line: string): void;
  /** What programs read in place of the lines; people do not see it. */
  data?(value: unknown): void;
}

export const standardStreams: Say = {
  out: (line) => void process.stdout.write(`${line}\n`),
  err: (line) => void process.stderr.write(`${line}\n`),
};

/** Runs a command that prints one line of JSON and nothing else; with `json`, errors go to stderr too (CL-60). */
export async function inOneLine(
  mode: 'json' | 'quiet',
  run: (say: Say) => Promise<number>,
  streams: Say = standardStreams,
): Promise<number> {
  const lines: string[] = [];
  const problems: string[] = [];
  let data: unknown;
  const say: Say = {
    out: (line) => void lines.push(line),
    err: (line) => void problems.push(line),
    data: (value) => {
      data = value;
    },
  };
  const code = await run(say);
  const told = code === 0 ? { ok: true, data: data ?? { lines } } : failed('host_error', problems.join('; '));
  streams.out(JSON.stringify({ ...told, ...(code === 0 && problems.length > 0 ? { warnings: problems } : {}) }));
  if (mode === 'json') problems.forEach(streams.err);
  return code;
}

/** The line of a command that failed. */
export const failed = (code: 'host_error' | 'usage', message: string, hint: string | null = null) => ({
  ok: false,
  data: null,
  error: { code, message, hint },
});

/** Prints one line per error and returns the exit code 1 (OP-51). */
export function sayAll({ err }: Say, lines: readonly string[]): number {
  lines.forEach(err);
  return 1;
}
