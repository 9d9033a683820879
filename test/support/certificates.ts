import { execFileSync } from 'node:child_process';
import { chownSync, copyFileSync, writeFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { join } from 'node:path';
import type { User } from '../../dev/postgres-programs.js';

export interface Authority {
  /** File of its certificate. */
  file: string;
  /**
   * Puts a certificate for a host or an address and its key into `cert.pem` and `key.pem` of a folder, readable for `user`. With -1
   * days it is expired.
   */
  issue(host: string, folder: string, user: User | null, days?: number): void;
}

/** Makes a certificate authority in a folder with the program `openssl`, which every system that runs the tests has. */
export function createAuthority(folder: string, name: string): Authority {
  const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: folder, stdio: 'pipe', timeout: 30_000 });
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-subj', `/CN=${name}`];
  openssl('req', '-x509', ...newKey, '-keyout', `${name}.key`, '-out', `${name}.pem`, '-days', '2');
  return {
    file: join(folder, `${name}.pem`),
    issue(host, target, user, days = 2) {
      openssl('req', ...newKey, '-keyout', 'issued.key', '-out', 'issued.csr');
      writeFileSync(join(folder, 'issued.ext'), `subjectAltName=${isIP(host) === 0 ? 'DNS' : 'IP'}:${host}\n`);
      const signer = ['-CA', `${name}.pem`, '-CAkey', `${name}.key`, '-CAcreateserial', '-days', String(days)];
      openssl('x509', '-req', '-in', 'issued.csr', ...signer, '-extfile', 'issued.ext', '-out', 'issued.pem');
      for (const kind of ['cert', 'key']) {
        const file = join(target, `${kind}.pem`);
        copyFileSync(join(folder, kind === 'cert' ? 'issued.pem' : 'issued.key'), file);
        if (user !== null) chownSync(file, user.uid, user.gid);
      }
    },
  };
}
