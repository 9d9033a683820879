import { readFileSync } from 'node:fs';

/**
 * Loaded into a program with `--import`: its wall clock differs from the machine's by the milliseconds that stand in the file
 * `SVC_TEST_CLOCK_FILE`, from the moment they stand there. Timers and `performance.now()` go on as they are, as they do when somebody sets a clock.
 */
const file = process.env.SVC_TEST_CLOCK_FILE;
const Real = Date;
const now = () => Real.now() + Number(readFileSync(file, 'utf8') || 0);

globalThis.Date = class extends Real {
  constructor(...parts) {
    if (parts.length === 0) super(now());
    else super(...parts);
  }
  static now() {
    return now();
  }
};
