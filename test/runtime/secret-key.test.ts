import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { loadExistingSecretKey } from '../../runtime/secret-key.js';
import { StartError } from '../../runtime/start-error.js';
import { temporaryFolder } from '../support/processes.js';

it('a key file that cannot be read is told by its key, without a stack (OP-51, CF-I1)', async () => {
  const secretKeyFile = join(await temporaryFolder(), 'secret.key');
  await mkdir(secretKeyFile, { mode: 0o700 });
  const security = { secretKey: null, secretKeyFile, secretKeyFileNamed: false, auditPublicKeys: [] };
  await expect(loadExistingSecretKey(security)).rejects.toEqual(
    new StartError(`security.secret_key_file: ${secretKeyFile} cannot be read (it is a folder)`),
  );
});
