/** Where a start tells what it does. */
export interface Report {
  line(text: string): void;
  /** Begins a step; the returned function tells that it is done, where to find it and how long it took. */
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
