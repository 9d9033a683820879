import { describe, expect, it } from 'vitest';
import { CommandFailure } from '../../cli/failure.js';
import { inOwnWords } from '../../cli/own-words.js';

const told = (message: string, hint: string | null, what: string, options: Record<string, unknown> = {}) => {
  const problem = new CommandFailure('validation.failed', `${what}: ${message}`, { hint, exit: 1, reason: 'x', data: '{"a":1}' });
  problem.requestId = 'id';
  const own = inOwnWords(problem, { what, options }) as CommandFailure;
  expect([own.code, own.exit, own.reason, own.data, own.requestId]).toEqual(['validation.failed', 1, 'x', '{"a":1}', 'id']);
  return [own.message, own.hint];
};

describe('a refusal in the words of the command line', () => {
  it.each([
    [
      'the message where it begins with the field',
      'limit must be at most 100',
      'query.limit',
      { limit: 101 },
      '--limit must be at most 100',
      null,
    ],
    ['the SQL', 'detail holds no statement', 'body.detail', {}, 'the SQL holds no statement', null],
    [
      'a file',
      'syntax error at or near "selct"',
      'body.detail',
      { file: 'a/b.sql' },
      'syntax error at or near "selct"',
      'in a/b.sql',
    ],
    [
      'a pipe',
      'syntax error at or near "selct"',
      'body.sql',
      { file: '-' },
      'syntax error at or near "selct"',
      'in standard input',
    ],
    [
      'a value',
      'unknown role',
      'body.add_roles[1]',
      { addRole: ['dba', 'dbo'] },
      'unknown role',
      'check --add-role dbo; svc role list shows them',
    ],
    [
      'a value inside',
      'unknown role',
      'body.scope_ceiling.roles[0]',
      { scopeRoles: ['dbo'] },
      'unknown role',
      'check --scope-roles dbo',
    ],
    [
      'an option that is missing',
      'a reason is required by the workflow',
      'body.reason',
      {},
      'a reason is required by the workflow',
      'add --reason',
    ],
    [
      'a flag',
      'the workflow has no approval steps',
      'body.require_approval',
      { ask: true },
      'the workflow has no approval steps',
      'leave out --ask',
    ],
    ['one of two options', 'subject_id is too long', 'body.subject_id', { agent: 'x' }, '--agent is too long', null],
    ['a field in a sentence', 'no', 'in an emergency, allow_ddl lifts this', {}, 'no', 'in an emergency, --allow-ddl lifts this'],
  ])('names %s', (_, message, hint, options, ownMessage, ownHint) => {
    expect(told(message, hint, 'some command', options)).toEqual([`some command: ${ownMessage}`, ownHint]);
  });

  it('drops the field of an argument, and says where databases are listed', () => {
    expect(told('id must have letters', 'body.id', 'user add')).toEqual(['user add: id must have letters', null]);
    const problem = new CommandFailure('validation.failed', 'execute: a/b is not registered', { reason: 'not_registered' });
    const own = inOwnWords(problem, { what: 'execute', options: {} });
    expect((own as CommandFailure).hint).toBe('svc databases lists those that you can see');
  });

  it.each([
    ['user.not_found', null, 'svc user list shows them'],
    ['webhook.not_found', null, 'svc webhook list shows them'],
    ['table.not_found', 'without the name of a table the answer lists all', 'svc schema lists all'],
    ['table.not_found', 'found in a, b', 'found in a, b'],
    ['request.not_found', 'as the server says', 'as the server says'],
    ['execution.not_found', null, null],
  ])('says of %s where to look', (code, hint, ownHint) => {
    const own = inOwnWords(new CommandFailure(code, 'x: not found', { hint }), { what: 'x', options: {} });
    expect((own as CommandFailure).hint).toBe(ownHint);
  });

  it.each([null, 'svc login', 'body', 'body.constructor', 'body.nosuch', 'migrations[3].sql', 'grant a role first'])(
    'leaves %s',
    (hint) => {
      expect(told('limit must be at most 100', hint, 'request list')).toEqual(['request list: limit must be at most 100', hint]);
    },
  );
});
