import { readFileSync } from 'node:fs';

/**
 * Loaded into a program with `--import`. The wall clock of the program differs from that of the machine by the milliseconds in
 * the file `SVC_TEST_CLOCK_FILE`, as soon as they are there. Timers and `performance.now()` go on unchanged, as they do when
 * somebody sets a clock.
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
