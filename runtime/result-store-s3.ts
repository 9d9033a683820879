import { createHash } from 'node:crypto';
import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadBucketCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import type { Config } from '../config/types.js';
import { stopAfter } from '../lib/deadline.js';
import { sleep } from '../lib/sleep.js';
import { otherText, type PutObject, type ResultStore } from './result-store.js';

/** Attempts per call. The library retries failures that may be temporary. */
const attempts = 3;
const connectMs = 2000;
/** For the answer to begin; an object that is sent has more time, as by a link that brings this many bytes per millisecond. */
const answerMs = 5000;
const leastBytesPerMs = 1000;
/** A body without progress for this long is aborted. A slow reader of a result holds its body back. */
const idleMs = 60_000;
/** The limit of all attempts together, for a transfer and for any other call. */
const transferMs = 30_000;
const callMs = 4000;
const probeMs = 2000;
/** AWS refuses one of two simultaneous writes with 409. */
const raceTries = 5;
const racePauseMs = 100;

interface Bucket {
  client: S3Client;
  bucket: string;
  prefix: string;
}

/** Results as objects in a bucket of an S3-compatible store that honours `If-None-Match: *`. */
export function openS3ResultStore(config: Config['resultStorage']): ResultStore {
  const place: Bucket = { client: createClient(config), bucket: config.bucket, prefix: prefixOf(config.prefix) };
  const named = (key: string) => ({ Bucket: place.bucket, Key: place.prefix + key });
  return {
    backend: 's3',
    put: (key, text) => put(place, key, text),
    read: (key) => read(place, key),
    has: (key) => isFound(place.client.send(new HeadObjectCommand(named(key)), within(callMs))),
    remove: async (key) => {
      await place.client.send(new DeleteObjectCommand(named(key)), within(callMs));
    },
    objects: () => objects(place),
    healthy: () =>
      place.client.send(new HeadBucketCommand({ Bucket: place.bucket }), within(probeMs)).then(
        () => true,
        () => false,
      ),
  };
}

function createClient(config: Config['resultStorage']): S3Client {
  const { endpoint, accessKeyId, secretAccessKey } = config;
  return new S3Client({
    region: config.region,
    forcePathStyle: config.pathStyle,
    maxAttempts: attempts,
    // Without both keys, the library uses the usual AWS credential sources.
    ...(accessKeyId === null || secretAccessKey === null ? {} : { credentials: { accessKeyId, secretAccessKey } }),
    ...(endpoint === null ? {} : { endpoint }),
    requestHandler: {
      connectionTimeout: connectMs,
      requestTimeout: answerMs,
      throwOnRequestTimeout: true,
      socketTimeout: idleMs,
    },
    // Stores other than Amazon's refuse the checksums that the library would add. We send our own with each object and compare it on each
    // read.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
  });
}

const prefixOf = (prefix: string) => (prefix === '' || prefix.endsWith('/') ? prefix : `${prefix}/`);

const within = (ms: number) => ({ abortSignal: AbortSignal.timeout(ms) });

async function put(place: Bucket, key: string, bytes: Uint8Array): Promise<PutObject> {
  const hash = createHash('sha256').update(bytes).digest();
  const sha256 = hash.toString('hex');
  const command = new PutObjectCommand({
    Bucket: place.bucket,
    Key: place.prefix + key,
    Body: bytes,
    ContentLength: bytes.length,
    ContentType: 'application/json',
    ChecksumSHA256: hash.toString('base64'),
    IfNoneMatch: '*',
  });
  const limits = { ...within(transferMs), requestTimeout: answerMs + bytes.length / leastBytesPerMs };
  for (let tried = 1; ; tried += 1) {
    try {
      await place.client.send(command, limits);
      return { sha256, length: bytes.length, existed: false };
    } catch (error) {
      const status = statusOf(error);
      if (status !== 412 && (status !== 409 || tried >= raceTries)) throw error;
      // The key is taken, by the same text after a lost answer or by another submission. After a lost race the object may still be missing.
      const stored = await hashOf(place, key);
      if (stored === sha256) return { sha256, length: bytes.length, existed: true };
      if (stored !== null) throw otherText();
      if (tried >= raceTries) throw error;
      await sleep(racePauseMs * tried);
    }
  }
}

async function hashOf(place: Bucket, key: string): Promise<string | null> {
  const body = await read(place, key);
  if (body === null) return null;
  const hash = createHash('sha256');
  for await (const chunk of body) hash.update(chunk);
  return hash.digest('hex');
}

/** The limit covers only the start of the answer: a slow reader may take longer over the body. */
async function read({ client, bucket, prefix }: Bucket, key: string): Promise<AsyncIterable<Uint8Array> | null> {
  const giveUp = new AbortController();
  const command = new GetObjectCommand({ Bucket: bucket, Key: prefix + key });
  try {
    const { Body } = await stopAfter(
      callMs,
      () => giveUp.abort(),
      () => client.send(command, { abortSignal: giveUp.signal }),
    );
    return (Body ?? null) as AsyncIterable<Uint8Array> | null;
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}

async function* objects({ client, bucket, prefix }: Bucket): AsyncGenerator<{ key: string; modifiedAt: number }> {
  let after: string | undefined;
  do {
    const page = await client.send(
      new ListObjectsV2Command({ Bucket: bucket, Prefix: prefix, ...(after === undefined ? {} : { ContinuationToken: after }) }),
      within(callMs),
    );
    for (const { Key, LastModified } of page.Contents ?? [])
      if (Key !== undefined && LastModified !== undefined)
        yield { key: Key.slice(prefix.length), modifiedAt: LastModified.getTime() };
    after = page.IsTruncated ? page.NextContinuationToken : undefined;
  } while (after !== undefined);
}

async function isFound(answer: Promise<unknown>): Promise<boolean> {
  try {
    await answer;
    return true;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

/** Only a missing object counts; a missing bucket is a fault of the store. */
const isMissing = (error: unknown) => statusOf(error) === 404 && (error as Error).name !== 'NoSuchBucket';

function statusOf(error: unknown): number | undefined {
  return (error as { $metadata?: { httpStatusCode?: number } }).$metadata?.httpStatusCode;
}
