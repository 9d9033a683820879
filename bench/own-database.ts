import { readFileSync } from 'node:fs';
import { type ApprovalMacs, approvalMacs } from '../crypto/approval-macs.js';
import type { Database } from '../db/client.js';
import { openDatabase } from '../db/open-database.js';
import type { BenchSystem } from './system.js';

interface OwnDatabase {
  database: Database;
  secretKey: Uint8Array;
  macs: ApprovalMacs;
}

/** Works on the gateway's database as a process of the gateway does, under its secret key. */
export async function asGateway<T>(
  { databaseUrl, secretKeyFile }: BenchSystem,
  work: (own: OwnDatabase) => Promise<T>,
): Promise<T> {
  const secretKey = Uint8Array.from(Buffer.from(readFileSync(secretKeyFile, 'utf8').trim(), 'hex'));
  const macs = approvalMacs(secretKey);
  const database = openDatabase({
    url: databaseUrl,
    poolMax: 2,
    connectTimeoutMs: 3000,
    statementTimeoutMs: 60_000,
    callTimeoutMs: 60_000,
    applicationName: 'bench',
    macs,
  });
  try {
    return await work({ database, secretKey, macs });
  } finally {
    await database.close();
  }
}
