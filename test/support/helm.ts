import type { GoProgram } from './go-program.js';

/** Checks and renders the chart. */
export const helm: GoProgram = {
  file: 'helm',
  package: 'helm.sh/helm/v4/cmd/helm',
  version: 'v4.3.1',
  asks: ['version'],
  buildTakes: 'four minutes',
};
