import fc from 'fast-check';
import { type AgentName, agents, type Person, people } from './people.js';

/** One thing that somebody does. `request` counts back from the newest; one that is not there stands for an unknown id. */
export type Call =
  | {
      call: 'create';
      who: Person;
      environment: string;
      detail: string;
      reason: string | null;
      key: string | null;
      emergency: boolean;
      share: string[];
      noStore: boolean;
    }
  | { call: 'approve'; who: Person; request: number; selector: string | null }
  | { call: 'reject' | 'cancel' | 'resume' | 'show' | 'executions' | 'content'; who: Person; request: number }
  | { call: 'list'; who: Person; pendingForMe: boolean }
  | { call: 'suspend' | 'activate'; who: Person }
  | { call: 'poll'; agent: AgentName }
  /** `again` repeats the claim id of the agent's own run, if it is of the newest dispatch. */
  | { call: 'claim'; agent: AgentName; request: number; again: boolean }
  /** `run` counts back from the newest run of the request. */
  | { call: 'heartbeat'; agent: AgentName; request: number; run: number }
  | { call: 'result'; agent: AgentName; request: number; run: number; outcome: Outcome; fence: Fence; cancelled: false | null }
  /** The instant of the clock is reached; whether the timer has fired, too. */
  | { call: 'clock'; clock: Clock; request: number; fires: boolean };

export type Of<Name extends Call['call']> = Extract<Call, { call: Name }>;

export type Outcome = (typeof outcomes)[number];
export type Clock = (typeof clocks)[number];
type Fence = 'own' | 'other' | 'unsaid';

/** `contradiction` reports a success that was rolled back. */
const outcomes = ['committed', 'rolled_back', 'not_started', 'partial', 'unknown', 'contradiction'] as const;
const clocks = ['pending', 'approved', 'dispatch', 'lease'] as const;

/** Who may be suspended in a sequence. */
export const suspendable: readonly Person[] = ['olive', 'ann', 'ida'];

export const write = 'delete from t where id = 1';

const anybody = fc.constantFrom(...(Object.keys(people) as Person[]));
const most = <T>(usual: T, ...others: T[]) =>
  fc.oneof({ weight: 3 * others.length, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: fc.constantFrom(...others) });
const agent: fc.Arbitrary<AgentName> = fc.constantFrom('fern', 'fern', ...(Object.keys(agents) as AgentName[]));
const request = fc.oneof({ weight: 6, arbitrary: fc.constant(0) }, { weight: 2, arbitrary: fc.nat(3) });
const run = fc.oneof({ weight: 6, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.constant(1) });

const create = fc.record({
  call: fc.constant('create' as const),
  who: fc.constantFrom<Person>('olive', 'olive', 'olive', 'ida', 'ida', 'sam', 'ann', 'admin'),
  environment: fc.constantFrom('staging', 'staging', 'production', 'production', 'dev', 'dev', 'unregistered'),
  detail: fc.constantFrom('select 1', 'select 1', write, write, write, 'selec 1'),
  reason: most<string | null>('r', null),
  key: most<string | null>(null, 'k1', 'k2'),
  emergency: most<boolean>(false, false, true),
  share: most<string[]>([], ['sam']),
  noStore: most<boolean>(false, true),
});

const call: fc.Arbitrary<Call> = fc.oneof(
  { weight: 3, arbitrary: create },
  {
    weight: 7,
    arbitrary: fc.record({
      call: fc.constant('approve' as const),
      who: fc.oneof(fc.constantFrom<Person>('ann', 'bert', 'ida'), anybody),
      request,
      selector: most<string | null>(null, 'group:dba-team', 'group:leads', 'user:ida'),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      call: fc.constantFrom('resume', 'resume', 'resume', 'cancel', 'reject'),
      who: fc.oneof(fc.constantFrom<Person>('olive', 'admin'), anybody),
      request,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      call: fc.constantFrom('show', 'executions', 'content', 'content'),
      who: fc.oneof(fc.constantFrom<Person>('olive', 'admin'), anybody),
      request,
    }),
  },
  { weight: 1, arbitrary: fc.record({ call: fc.constant('list'), who: anybody, pendingForMe: fc.boolean() }) },
  {
    weight: 1,
    arbitrary: fc.record({
      call: fc.constantFrom('suspend', 'activate', 'activate'),
      who: fc.constantFrom(...suspendable),
    }),
  },
  { weight: 1, arbitrary: fc.record({ call: fc.constant('poll'), agent }) },
  { weight: 6, arbitrary: fc.record({ call: fc.constant('claim'), agent, request, again: most<boolean>(false, true) }) },
  { weight: 1, arbitrary: fc.record({ call: fc.constant('heartbeat'), agent, request, run }) },
  {
    weight: 8,
    arbitrary: fc.record({
      call: fc.constant('result' as const),
      agent,
      request,
      run,
      outcome: fc.constantFrom('committed', ...outcomes),
      fence: most<Fence>('own', 'unsaid', 'other'),
      cancelled: most<false | null>(null, false),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      call: fc.constant('clock'),
      clock: fc.constantFrom('lease', 'lease', ...clocks),
      request,
      fires: most<boolean>(true, false),
    }),
  },
);

const asks = (environment: string, over: Partial<Extract<Call, { call: 'create' }>> = {}): Call => ({
  call: 'create',
  who: 'olive',
  environment,
  detail: write,
  reason: null,
  key: null,
  emergency: false,
  share: [],
  noStore: false,
  ...over,
});
const newest = { request: 0, run: 0, agent: 'fern', fence: 'own', cancelled: null } as const;
const approves = (who: Person, selector: string | null = null): Call => ({ call: 'approve', who, request: 0, selector });
const does = (who: Person, what: 'reject' | 'cancel' | 'resume' | 'content'): Call => ({ call: what, who, request: 0 });
const claims = (agent: AgentName = 'fern'): Call => ({ call: 'claim', agent, request: 0, again: false });
const reports = (outcome: Outcome, run = 0): Call => ({ ...newest, call: 'result', outcome, run });
const ends = (clock: Clock): Call => ({ call: 'clock', clock, request: 0, fires: true });

const inProduction = [asks('production'), approves('ann'), approves('bert')];
const running = [asks('staging', { key: 'k1' }), claims()];
const lost = [...running, ends('lease')];
const again = [does('olive', 'resume'), claims()];
const lostTwice = [...lost, ...again, ends('lease')];

/** Where a result may find its request (AG-45). */
const awaiting = [
  running,
  [...running, does('olive', 'cancel')],
  lost,
  [...running, does('olive', 'cancel'), ends('lease')],
  [...lost, does('admin', 'cancel')],
];

/** Ways into every status; sequences begin with them, and each is played once as it is. */
export const openings: Call[][] = [
  ...awaiting.flatMap((way) => outcomes.map((outcome) => [...way, reports(outcome)])),
  ...awaiting.map((way): Call[] => [...way, { ...newest, call: 'result', outcome: 'rolled_back', cancelled: false }]),
  [asks('production'), does('olive', 'reject')],
  [asks('production'), ends('pending')],
  [...inProduction, does('olive', 'resume'), claims(), reports('committed'), does('olive', 'content')],
  [asks('dev', { who: 'ida' }), approves('bert', 'group:leads'), approves('ida'), approves('ann')],
  [asks('staging'), ends('dispatch')],
  [...lost, does('olive', 'resume'), claims(), reports('rolled_back')],
  [...running, reports('rolled_back'), does('olive', 'resume'), claims()],
  [...lost, does('olive', 'resume'), does('olive', 'cancel'), reports('committed')],
  [...lost, does('olive', 'resume'), reports('committed'), does('olive', 'cancel')],
  [...lost, does('olive', 'resume'), reports('committed'), { call: 'suspend', who: 'olive' }],
  [...lostTwice, does('olive', 'cancel'), reports('committed', 1), does('olive', 'content')],
  [...lostTwice, reports('committed', 1), does('olive', 'cancel'), does('olive', 'content')],
  [...lostTwice, reports('committed', 1), { call: 'suspend', who: 'olive' }],
  [...lostTwice, does('olive', 'resume'), reports('committed', 1), does('olive', 'cancel'), does('olive', 'content')],
  [...lostTwice, does('olive', 'resume'), does('olive', 'cancel'), reports('committed', 1)],
  [...lost, ...again, does('olive', 'cancel'), reports('not_started'), reports('committed', 1), does('olive', 'content')],
  [...lost, ...again, reports('committed', 1), does('olive', 'cancel'), reports('not_started'), does('olive', 'content')],
  [...running, { call: 'suspend', who: 'olive' }],
  [asks('staging', { noStore: true }), claims('rust'), ends('lease')],
];

const calls = fc.array(call, { minLength: 1, maxLength: 24, size: 'max' });

/** What several people and agents do one after the other; it always begins with a creation. */
export const sequences: fc.Arbitrary<Call[]> = fc
  .oneof(fc.tuple(fc.tuple(create), calls), fc.tuple(fc.constantFrom(...openings), calls))
  .map(([opening, rest]) => [...opening, ...rest]);
