import type { GoProgram } from './go-program.js';

/** Checks rules of Prometheus and runs their tests. */
export const promtool: GoProgram = {
  file: 'promtool',
  package: 'github.com/prometheus/prometheus/cmd/promtool',
  version: 'v0.316.0',
  // Debian's, which may be on the path, knows no Kubernetes and rounds otherwise.
  asks: null,
  buildTakes: 'seven minutes',
};
