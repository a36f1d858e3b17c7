import { type LocationPlan, locationText, type ServerPlan } from '../plan/index.ts';
import type { Account, AccountRound, Branch } from './account.ts';
import { responseOf, summaryOf } from './response.ts';
import { type Effective, effectiveIn, StepWriter } from './steps.ts';
import { type PlanBlocks, placeText, type DirectiveText } from './plan-blocks.ts';
import { type ChosenPort, serverAccount, type AccountInput } from './server.ts';
import type { OpenQuestion, Tracer, TraceRound, TraceStep } from './tracer.ts';

/** What happened to a request, and how it would have ended otherwise, as an account. */
export function accountOf(main: Tracer, others: readonly Tracer[], input: AccountInput): Account {
  const { blocks, loaded, chosen, read } = input;
  const server = serverOf(main, blocks);
  const location = locationOf(main, blocks);
  const client = clientOf(main);
  return {
    version: 1,
    request: requestOf(input),
    found: true,
    port: chosen.account,
    ...(server && {
      server: serverAccount(server, {
        plan: loaded.plan,
        blocks,
        port: chosen.port,
        host: read.host,
      }),
    }),
    rounds: main.rounds.map((round) => roundOf(round, input)),
    ...(location && {
      location: { text: location.match ? locationText(location.match) : 'server', place: location.place },
    }),
    ...(client !== undefined && { client }),
    ...effectiveAt(lastPlace(main), input),
    answer: responseOf(main, input),
    branches: others.map((other, index) =>
      branchOf(other, main.questions[index] as OpenQuestion, { main, input }),
    ),
  };
}

function serverOf(main: Tracer, blocks: PlanBlocks): ServerPlan | undefined {
  const [first] = enters(main);
  return first && blocks.of(first.plan)?.server;
}

function effectiveAt(
  plan: LocationPlan | undefined,
  { blocks, loaded, texts, directives }: AccountInput,
): Effective {
  const view = plan && blocks.view(plan);
  if (!view) return { effective: [], replaced: [] };
  const modules = ['core', ...Object.keys(plan.modules)];
  return effectiveIn(view, { registry: loaded.registry, texts, modules, told: directives });
}

function branchOf(
  other: Tracer,
  open: OpenQuestion,
  { main, input }: { readonly main: Tracer; readonly input: AccountInput },
): Branch {
  return {
    ...questionOf(open, main, input.texts),
    if: open.options[open.taken === 0 ? 1 : 0],
    ...summaryOf(other, input),
  };
}

/** What was not known, and the directive that asks for it. */
function questionOf(
  open: OpenQuestion,
  { rounds }: Tracer,
  texts: DirectiveText,
): { readonly question: string; readonly place: string } {
  const asking = rounds
    .flatMap(({ steps }) => steps)
    .find((step) => step.kind === 'directive' && step.open === open);
  if (asking?.kind !== 'directive') return { question: open.question, place: '' };
  const directive = texts.directive(asking.node).replace(/ \{ … \}$/, '');
  return { question: directive, place: placeText(asking.node.name.span) };
}

/** Nobody is there to get the request. */
export function notFound(
  { question, read }: Pick<AccountInput, 'question' | 'read'>,
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

function requestOf({ question, read }: Pick<AccountInput, 'question' | 'read'>): Account['request'] {
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

function roundOf({ uri, args, steps }: TraceRound, input: AccountInput): AccountRound {
  const writer = new StepWriter(input);
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
function locationOf(tracer: Tracer, blocks: PlanBlocks): LocationPlan | undefined {
  return enters(tracer).findLast(({ plan }) => blocks.of(plan)?.role !== 'block')?.plan;
}

/** The client's address, where it is not that of the other end. */
function clientOf({ rounds }: Tracer): string | undefined {
  const moved = rounds
    .flatMap(({ steps }) => steps)
    .findLast((step) => step.kind === 'phase' && step.address !== undefined);
  return moved?.kind === 'phase' ? moved.address : undefined;
}
