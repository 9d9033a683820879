import { openAuditKeys } from '../../runtime/audit-keys.js';
import { sealBatch } from '../../worker/seal-batch.js';
import { openTestDatabase } from './postgres.js';

/** Seals without a pause until it is killed: `sealing-process.ts URL`. It says when it begins. */
const database = openTestDatabase(process.argv[2]!, 2);
const keys = await openAuditKeys({ database, secretKey: new Uint8Array(32).fill(0x5e), publicKeys: [] });
process.stdout.write('sealing\n');
for (;;) await database.transaction((tx) => sealBatch(tx, keys, { origin: 'svc', isAnchored: false })).catch(() => {});
