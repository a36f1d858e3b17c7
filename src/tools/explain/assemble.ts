import { placeText } from '../../../grammar/index.ts';
import { type LocationPlan, locationText, type ServerPlan } from '../../plan/index.ts';
import type { Account, AccountRound, Branch } from './account.ts';
import { responseOf, summaryOf } from './response.ts';
import { type Effective, effectiveIn, StepWriter } from './steps.ts';
import type { PlanBlocks, DirectiveText } from './plan-blocks.ts';
import { type ChosenPort, serverAccount, type AccountInput } from './server.ts';
import type { OpenQuestion, Tracer, TraceRound, TraceStep } from './tracer.ts';

/** The account of a traced request, with the responses under other assumptions. */
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

/** An open question, and the place of the directive that depends on it. */
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

/** The account of a request that no server receives. */
export function notFound(
  { question, read, veil }: Pick<AccountInput, 'question' | 'read' | 'veil'>,
  why: string,
  chosen?: ChosenPort,
): Account {
  return {
    version: 1,
    request: requestOf({ question, read, veil }),
    found: false,
    ...(chosen && { port: chosen.account }),
    rounds: [],
    effective: [],
    replaced: [],
    answer: { does: why, place: chosen?.account.place ?? '', facts: [] },
    branches: [],
  };
}

function requestOf({
  question,
  read,
  veil,
}: Pick<AccountInput, 'question' | 'read' | 'veil'>): Account['request'] {
  const { method, url, from, headers } = question;
  return {
    method,
    url: veil.url(url),
    host: read.host,
    uri: read.path,
    args: veil.url(read.args),
    from,
    headers: headers.map((header) => veil.header(header)),
  };
}

function roundOf({ uri, args, steps }: TraceRound, input: AccountInput): AccountRound {
  const writer = new StepWriter(input);
  for (const step of steps) writer.add(step);
  return { uri: input.veil.url(args === '' ? uri : `${uri}?${args}`), steps: writer.steps };
}

type Enter = Extract<TraceStep, { kind: 'enter' }>;

function enters({ rounds }: Tracer): readonly Enter[] {
  return rounds.flatMap(({ steps }) => steps).filter((step): step is Enter => step.kind === 'enter');
}

/** The plan of the last location or block that the request entered. */
function lastPlace(tracer: Tracer): LocationPlan | undefined {
  return enters(tracer).at(-1)?.plan;
}

/** The last location that the request entered, not a block inside it. */
function locationOf(tracer: Tracer, blocks: PlanBlocks): LocationPlan | undefined {
  return enters(tracer).findLast(({ plan }) => blocks.of(plan)?.role !== 'block')?.plan;
}

/** The client's address, if it differs from the peer's. */
function clientOf({ rounds }: Tracer): string | undefined {
  const moved = rounds
    .flatMap(({ steps }) => steps)
    .findLast((step) => step.kind === 'phase' && step.address !== undefined);
  return moved?.kind === 'phase' ? moved.address : undefined;
}
