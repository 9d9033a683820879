import { beforeEach, describe, expect, it } from 'vitest';
import { GatewayError } from '../../domain/errors.js';
import { createLog } from '../../runtime/log.js';
import { createTroubles, type Troubles } from '../../runtime/troubles.js';

let lines: string[];
let at: number;
let troubles: Troubles;
beforeEach(() => {
  lines = [];
  at = 0;
  const write = (line: string) => {
    const { level, msg, job, failures, outage } = JSON.parse(line);
    lines.push([level, msg, job, failures, outage].filter((one) => one !== undefined).join(' '));
  };
  const log = createLog({ process: 'worker', version: '1', level: 'info', format: 'json', write });
  troubles = createTroubles(log, () => at);
});

const away = () => new GatewayError('service.unavailable', 'no database', null, { cause: { code: 'ECONNREFUSED' } });
const fail = (part: string, error: unknown = new Error('bug')) => troubles.failed(part, error, 'work failed');

describe('what goes wrong again and again (OP-95)', () => {
  it('is told when it begins, once a minute while it lasts, and when it is over', () => {
    for (at = 0; at < 150_000; at += 1000) fail('sealer');
    troubles.works('sealer');
    troubles.works('sealer');
    expect(lines).toEqual([
      'error work failed sealer',
      'error work failed sealer 61',
      'error work failed sealer 121',
      'info over: work failed 150',
    ]);
  });

  it('is one trouble for all parts that lack the same, which lasts until the last of them works', () => {
    for (const part of ['sealer', 'purge']) fail(part, away());
    troubles.works('sealer');
    fail('purge', away());
    troubles.works('purge');
    expect(lines).toEqual(['error no database sealer ECONNREFUSED', 'info over: no database 3']);
  });

  it('of one part hides nothing of another, nor a bug behind an outage', () => {
    fail('sealer', away());
    fail('purge');
    fail('sealer');
    expect(lines).toEqual([
      'error no database sealer ECONNREFUSED',
      'error work failed purge',
      'info over: no database 1',
      'error work failed sealer',
    ]);
  });

  it('comes and goes without filling the log, and is told again when ten seconds have passed', () => {
    for (at = 0; at < 15_000; at += 1000) {
      fail('sealer');
      troubles.works('sealer');
    }
    fail('sealer');
    expect(lines).toEqual([
      'error work failed sealer',
      'info over: work failed 1',
      'error work failed sealer',
      'info over: work failed 1',
    ]);
  });
});
