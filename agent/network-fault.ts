import { networkFaults } from '../lib/network-faults.js';

/** The code of a failed connection, with its meaning if known. */
export function networkFault(code: string): string {
  const words = networkFaults[code];
  return words === undefined ? code : `${code}, ${words}`;
}
