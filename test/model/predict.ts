import type { Call, Of } from './calls.js';
import { people } from './people.js';
import { approve, cancel, content, create, list, reject, resume, suspend } from './predict-people.js';
import { claim, clock, heartbeat, poll, result } from './predict-runs.js';
import {
  answer,
  type Expected,
  executionOf,
  forbidden,
  gone,
  mayMove,
  maySee,
  notFound,
  type Request,
  shown,
  unauthorized,
  type World,
} from './world.js';

type OnOne = Of<'approve'> | Of<'reject' | 'cancel' | 'resume' | 'show' | 'executions' | 'content'>;

/** What a call must be answered with (null for a clock, which nobody calls); the world is then what it must be after it. */
export function predict(world: World, call: Call): Expected | null {
  const request = 'request' in call ? world.requests.at(-1 - call.request) : undefined;
  switch (call.call) {
    case 'suspend':
      return suspend(world, call.who);
    case 'activate':
      world.suspended.delete(call.who);
      return answer(200, { id: call.who });
    case 'poll':
      return poll(world, call.agent);
    case 'claim':
      return claim(request, call, world);
    case 'heartbeat':
      return heartbeat(request, call);
    case 'result':
      return result(request, call);
    case 'clock':
      if (request !== undefined) clock(request, call);
      return null;
  }
  if (world.suspended.has(call.who)) return unauthorized;
  if (call.call === 'create') return create(world, call);
  if (call.call === 'list') return list(world, call);
  // RQ-6, RQ-7: whoever holds the permission nowhere is not even told whether the request exists.
  if ((call.call === 'cancel' || call.call === 'resume') && !people[call.who].asks) return forbidden;
  return request === undefined ? notFound : onOne(world, request, call);
}

function onOne(world: World, request: Request, call: OnOne): Expected {
  const { who } = call;
  switch (call.call) {
    case 'show':
      return maySee(who, request) ? answer(200, shown(request)) : forbidden;
    case 'executions':
      return maySee(who, request) ? answer(200, { executions: request.runs.map(executionOf).toReversed() }) : forbidden;
    case 'content':
      return content(request, who);
  }
  if (!mayMove(who, request)) return forbidden;
  if (call.call === 'cancel') return cancel(request, who);
  const isOver = request.status === 'expired' || (request.status === 'pending' && request.reached.pending);
  if (isOver) return gone;
  switch (call.call) {
    case 'approve':
      return approve(request, call);
    case 'reject':
      return reject(request, who);
    case 'resume':
      return resume(request, who, world);
  }
}
