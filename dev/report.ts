/** Reports the progress of a start. */
export interface Report {
  line(text: string): void;
  /** Begins a step; the returned function reports its end, its place and its duration. */
  begin(name: string): (where: string) => void;
}

export function createReport(write: (text: string) => void): Report {
  const line = (text: string) => write(`${text}\n`);
  const begin = (name: string) => {
    const startedAt = Date.now();
    return (where: string) => line(`  ${name.padEnd(10)} ready in ${((Date.now() - startedAt) / 1000).toFixed(1)} s  ${where}`);
  };
  return { line, begin };
}
