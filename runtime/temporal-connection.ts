import { readFileSync } from 'node:fs';
import type { Config } from '../config/types.js';

/** The connection options that both Temporal clients share (`[temporal]` of the configuration). Reads the named files. */
export function temporalConnection({ temporal }: Pick<Config, 'temporal'>) {
  const { address, apiKey, tls } = temporal;
  return { address, ...(apiKey === null ? {} : { apiKey }), tls: tls ? tlsOptions(temporal.tlsFiles) : false };
}

function tlsOptions({ ca, cert, key, serverName }: Config['temporal']['tlsFiles']) {
  return {
    ...(serverName === null ? {} : { serverNameOverride: serverName }),
    ...(ca === null ? {} : { serverRootCACertificate: readFileSync(ca) }),
    ...(cert === null || key === null ? {} : { clientCertPair: { crt: readFileSync(cert), key: readFileSync(key) } }),
  };
}
