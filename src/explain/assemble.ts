import type { Account, AccountRound } from './account.ts';
import { answerOf, summaryOf } from './answer.ts';
import type { Explainable } from './explain.ts';
import { effectiveIn } from './effective.ts';
import type { Places } from './places.ts';
import type { ChosenPort } from './port.ts';
import type { Question, ReadQuestion } from './question.ts';
import { serverAccount } from './server.ts';
import { StepWriter } from './steps.ts';
import type { TraceRound, TraceStep } from './trace.ts';
import type { Tracer } from './tracer.ts';
import type { Wording } from './words.ts';
import { locationText } from '../plan/index.ts';
import type { LocationPlan } from '../plan/index.ts';

/** What an account is written with. */
export interface Telling {
  readonly question: Question;
  readonly read: ReadQuestion;
  readonly chosen: ChosenPort;
  readonly places: Places;
  readonly wording: Wording;
  readonly loaded: Explainable;
}

/** What happened to a request, and how it would have ended otherwise, as an account. */
export function accountOf(main: Tracer, others: readonly Tracer[], telling: Telling): Account {
  const { places, wording, loaded, chosen, read } = telling;
  const [first] = main.rounds;
  const entered = first?.steps.find(({ kind }) => kind === 'enter');
  const server = entered?.kind === 'enter' ? places.of(entered.plan)?.server : undefined;
  const last = lastPlace(main);
  const facts = last && places.of(last);
  const location = last && locationOf(main, places);
  const { effective, replaced } = facts
    ? effectiveIn(facts.view, { registry: loaded.registry, wording })
    : { effective: [], replaced: [] };
  const client = clientOf(main);
  return {
    version: 1,
    request: requestOf(telling),
    found: true,
    port: chosen.account,
    ...(server && {
      server: serverAccount(server, { plan: loaded.plan, places, port: chosen.port, host: read.host }),
    }),
    rounds: main.rounds.map((round, index) => roundOf(round, index, telling)),
    ...(location && {
      location: { text: location.match ? locationText(location.match) : 'server', place: location.place },
    }),
    ...(client !== undefined && { client }),
    effective,
    replaced,
    answer: answerOf(main, telling),
    branches: others.map((other, index) => {
      const { question, options, taken } = main.questions[index]!;
      return { question, if: options[taken === 0 ? 1 : 0], then: summaryOf(other, telling) };
    }),
  };
}

/** Nobody is there to get the request. */
export function notFound(
  { question, read }: Pick<Telling, 'question' | 'read'>,
  why: string,
  chosen?: ChosenPort,
): Account {
  return {
    version: 1,
    request: requestOf({ question, read }),
    found: false,
    ...(chosen && { port: chosen.account }),
    rounds: [],
    effective: [],
    replaced: [],
    answer: { does: why, place: chosen?.account.place ?? '', facts: [] },
    branches: [],
  };
}

function requestOf({ question, read }: Pick<Telling, 'question' | 'read'>): Account['request'] {
  const { method, url, from, headers } = question;
  return {
    method,
    url,
    host: read.host,
    uri: read.path,
    args: read.args,
    from,
    headers: headers.map(veiled),
  };
}

/** Headers that let somebody in are the asker's own secret. */
function veiled([name, value]: readonly [string, string]): readonly [string, string] {
  if (!/^(?:authorization|proxy-authorization|cookie|x-publish-key|x-api-key)$/i.test(name))
    return [name, value];
  const [, scheme] = /^(\w+) +\S/.exec(value) ?? [];
  return [name, scheme === undefined ? '***' : `${scheme} ***`];
}

function roundOf({ uri, args, steps }: TraceRound, index: number, telling: Telling): AccountRound {
  const writer = new StepWriter(telling);
  for (const step of steps) writer.add(step, index);
  return { uri: args === '' ? uri : `${uri}?${args}`, steps: writer.steps };
}

type Enter = Extract<TraceStep, { kind: 'enter' }>;

function enters({ rounds }: Tracer): readonly Enter[] {
  return rounds.flatMap(({ steps }) => steps).filter((step): step is Enter => step.kind === 'enter');
}

/** Where the answer is made. */
function lastPlace(tracer: Tracer): LocationPlan | undefined {
  return enters(tracer).at(-1)?.plan;
}

/** The location itself, where a block of it has taken its place. */
function locationOf(tracer: Tracer, places: Places): LocationPlan | undefined {
  return enters(tracer).findLast(({ plan }) => places.of(plan)?.role !== 'block')?.plan;
}

/** The client's address, where it is not that of the other end. */
function clientOf({ rounds }: Tracer): string | undefined {
  const moved = rounds
    .flatMap(({ steps }) => steps)
    .findLast((step) => step.kind === 'phase' && step.address !== undefined);
  return moved?.kind === 'phase' ? moved.address : undefined;
}
