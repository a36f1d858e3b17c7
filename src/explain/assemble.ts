import { type LocationPlan, locationText, type ServerPlan } from '../plan/index.ts';
import type { Account, AccountRound, Branch } from './account.ts';
import { answerOf, summaryOf } from './answer.ts';
import { type Effective, effectiveIn, StepWriter } from './steps.ts';
import { type Places, placeText, type Wording } from './places.ts';
import { type ChosenPort, serverAccount, type Telling } from './server.ts';
import type { OpenQuestion, Tracer, TraceRound, TraceStep } from './tracer.ts';

/** What happened to a request, and how it would have ended otherwise, as an account. */
export function accountOf(main: Tracer, others: readonly Tracer[], telling: Telling): Account {
  const { places, loaded, chosen, read } = telling;
  const server = serverOf(main, places);
  const location = locationOf(main, places);
  const client = clientOf(main);
  return {
    version: 1,
    request: requestOf(telling),
    found: true,
    port: chosen.account,
    ...(server && {
      server: serverAccount(server, { plan: loaded.plan, places, port: chosen.port, host: read.host }),
    }),
    rounds: main.rounds.map((round) => roundOf(round, telling)),
    ...(location && {
      location: { text: location.match ? locationText(location.match) : 'server', place: location.place },
    }),
    ...(client !== undefined && { client }),
    ...effectiveAt(lastPlace(main), telling),
    answer: answerOf(main, telling),
    branches: others.map((other, index) =>
      branchOf(other, main.questions[index] as OpenQuestion, { main, telling }),
    ),
  };
}

function serverOf(main: Tracer, places: Places): ServerPlan | undefined {
  const [first] = enters(main);
  return first && places.of(first.plan)?.server;
}

function effectiveAt(
  plan: LocationPlan | undefined,
  { places, loaded, wording, directives }: Telling,
): Effective {
  const view = plan && places.view(plan);
  if (!view) return { effective: [], replaced: [] };
  const modules = ['core', ...Object.keys(plan.modules)];
  return effectiveIn(view, { registry: loaded.registry, wording, modules, told: directives });
}

function branchOf(
  other: Tracer,
  open: OpenQuestion,
  { main, telling }: { readonly main: Tracer; readonly telling: Telling },
): Branch {
  return {
    ...questionOf(open, main, telling.wording),
    if: open.options[open.taken === 0 ? 1 : 0],
    ...summaryOf(other, telling),
  };
}

/** What was not known, and the directive that asks for it. */
function questionOf(
  open: OpenQuestion,
  { rounds }: Tracer,
  wording: Wording,
): { readonly question: string; readonly place: string } {
  const asking = rounds
    .flatMap(({ steps }) => steps)
    .find((step) => step.kind === 'directive' && step.open === open);
  if (asking?.kind !== 'directive') return { question: open.question, place: '' };
  const directive = wording.directive(asking.node).replace(/ \{ … \}$/, '');
  return { question: directive, place: placeText(asking.node.name.span) };
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

function roundOf({ uri, args, steps }: TraceRound, telling: Telling): AccountRound {
  const writer = new StepWriter(telling);
  for (const step of steps) writer.add(step);
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
