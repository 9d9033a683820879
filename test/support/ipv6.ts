import { networkInterfaces } from 'node:os';

/** Whether this machine has ::1. */
export const hasIpv6 = Object.values(networkInterfaces()).some((addresses) =>
  addresses?.some(({ address }) => address === '::1'),
);
