import { randomUUID } from 'node:crypto';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import type { Config } from '../../config/types.js';
import { askEngines } from './ask-engines.js';
import { noteNotRun } from './not-run.js';

export type S3Config = Config['resultStorage'];

/**
 * A new bucket on the S3 server of the run (DV-12), in the form of `[result_storage]`. Null if there is none: give the file's
 * `import.meta.url` and skip its tests, which the run names at its end.
 */
export async function s3Storage(testFile: string): Promise<S3Config | null> {
  const server = await askEngines('/s3');
  if ('missing' in server) {
    noteNotRun(testFile, server.missing);
    return null;
  }
  const { origin, username, password } = new URL(server.url);
  const config: S3Config = {
    backend: 's3',
    rootDir: '/nowhere',
    bucket: `test-${randomUUID()}`,
    region: 'us-east-1',
    prefix: 'results',
    endpoint: origin,
    accessKeyId: username,
    secretAccessKey: password,
    pathStyle: true,
    maxPersistBytes: 10_485_760,
  };
  await s3Client(config).send(new CreateBucketCommand({ Bucket: config.bucket }));
  return config;
}

/** A client that bypasses the gateway. */
export const s3Client = ({ endpoint, region, accessKeyId, secretAccessKey }: S3Config) =>
  new S3Client({
    endpoint: endpoint!,
    region,
    forcePathStyle: true,
    credentials: { accessKeyId: accessKeyId!, secretAccessKey: secretAccessKey! },
  });

/** The section of `server.toml` for a bucket. */
export const s3Toml = (config: S3Config) =>
  [
    '[result_storage]',
    'backend = "s3"',
    `bucket = "${config.bucket}"`,
    `endpoint = "${config.endpoint}"`,
    `access_key_id = "${config.accessKeyId}"`,
    `secret_access_key = "${config.secretAccessKey}"`,
    'path_style = true',
  ].join('\n');
