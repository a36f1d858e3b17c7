import { placeText } from '../../../grammar/index.ts';
import type { ExplainedAction, ExplainedFact } from '../../contract/index.ts';
import { hasNoBody, statusLine } from '../../http/index.ts';
import { locationText } from '../../plan/index.ts';
import type { AccountResponse, Branch } from './account.ts';
import type { AccountInput } from './server.ts';
import type { TracedResponse, Tracer, TraceStep } from './tracer.ts';
import { modulePlace } from './plan-blocks.ts';

/** The effect of a response with an internal status; the client sees another status. */
const REASONS: Readonly<Record<number, string>> = {
  413: 'refuses a body that is too large',
  421: 'refuses a request for another name than that of the handshake',
  495: 'refuses the certificate of the client',
  496: 'refuses a client without a certificate',
  497: 'refuses a plain request on a port with TLS',
};

const CLOSES = 'closes the connection without a response';
/** Maximum number of characters of a body that are printed. */
const MOST_BODY = 400;
/** Media types of bodies that are printed; HTML is not. */
const SHOWN_TYPE = /^(?:text\/plain|application\/json|)(?:;|$)/;

/** The response to a traced request. */
export function responseOf(tracer: Tracer, input: AccountInput): AccountResponse {
  const steps = tracer.rounds.flatMap((round) => round.steps);
  // A fact that a handler adds about a refused request comes after the response.
  const last =
    steps.findLast(({ kind }) => kind === 'answer' || kind === 'closed') ??
    steps.findLast(({ kind }) => kind === 'phase');
  if (last?.kind === 'answer') return sent(last, { steps, tracer, input, told: contentOf(tracer) });
  if (last?.kind === 'closed')
    return { status: last.status, does: CLOSES, place: placeOfResponse(steps, input), facts: [] };
  if (last?.kind === 'phase' && last.deed)
    return { ...deedText(last.deed, input), place: placeOf(last, { steps, input }) };
  return { does: 'does not come to an end', place: '', facts: [] };
}

/** The response in one line, with its location. */
export function summaryOf(tracer: Tracer, input: AccountInput): Pick<Branch, 'does' | 'status'> {
  const { status, does: said, facts } = responseOf(tracer, input);
  const body = facts.find(({ label }) => label === 'body')?.value;
  const plan = tracer.rounds
    .flatMap(({ steps }) => steps)
    .findLast((step) => step.kind === 'enter' && input.blocks.of(step.plan)?.role !== 'block');
  const match = plan?.kind === 'enter' ? plan.plan.match : undefined;
  const where = match ? ` in location ${locationText(match)}` : '';
  const does = [
    status === undefined ? '' : `${statusText(status)}: `,
    said,
    body === undefined ? '' : ` "${body}"`,
    where,
  ].join('');
  return { does, ...(status !== undefined && { status }) };
}

function deedText(
  { does, facts = [], unknown }: NonNullable<Extract<TraceStep, { kind: 'phase' }>['deed']>,
  { texts }: AccountInput,
): Omit<AccountResponse, 'place'> {
  return {
    does: texts.masked(does),
    facts: facts.map(({ label, value }) => ({ label, value: texts.masked(value) })),
    ...(unknown !== undefined && { unknown }),
  };
}

/** A status with its reason phrase, if it has one. */
export function statusText(status: number): string {
  return statusLine(status).trim();
}

interface ResponseParts {
  readonly steps: readonly TraceStep[];
  readonly tracer: Tracer;
  readonly input: AccountInput;
  /** The action of the content handler. */
  readonly told: ExplainedAction | undefined;
}

/** The action of the content handler in the last round. */
function contentOf({ rounds }: Tracer): ExplainedAction | undefined {
  const steps = rounds.at(-1)?.steps ?? [];
  const found = steps.findLast((step) => step.kind === 'phase' && step.phase === 'content');
  return found?.kind === 'phase' ? found.deed : undefined;
}

function sent(
  answer: TracedResponse,
  { steps, tracer, told: content, input }: ResponseParts,
): AccountResponse {
  const { status, contentType, headers } = answer;
  const { texts } = input;
  const facts: ExplainedFact[] = [...(content?.facts ?? [])];
  if (contentType !== '') facts.push({ label: 'type', value: contentType });
  if (answer.lengthBytes !== undefined && answer.lengthBytes >= 0)
    facts.push({ label: 'length', value: `${answer.lengthBytes} bytes` });
  for (let index = 0; index < headers.length; index += 2)
    facts.push({ label: 'header', value: texts.masked(`${headers[index]}: ${headers[index + 1]}`) });
  for (const filter of tracer.filters) facts.push({ label: 'filter', value: `${filter} changes the body` });
  // The description by the handler stands for the body, unless the handler refused the request.
  const isTold = content !== undefined && status < 400;
  const body = isTold || input.question.method === 'HEAD' ? undefined : bodyText(answer);
  if (body !== undefined) facts.push({ label: 'body', value: texts.masked(body) });
  const unknown = exampleOf(steps);
  return {
    status,
    does: doesOf(answer, tracer, content),
    place: placeOfResponse(steps, input),
    facts,
    ...(unknown !== undefined && { unknown }),
  };
}

function doesOf(
  { status, headers, body }: TracedResponse,
  { refusal, rounds }: Tracer,
  content: ExplainedAction | undefined,
): string {
  if (refusal !== undefined) return refusal;
  const end = rounds.flatMap(({ steps }) => steps).findLast(({ kind }) => kind === 'end');
  const ended = end?.kind === 'end' ? end.status : undefined;
  const at = headers.findIndex((name, index) => index % 2 === 0 && name.toLowerCase() === 'location');
  if (at >= 0 && status >= 300 && status < 400) return `redirects to ${headers[at + 1] ?? ''}`;
  if (status >= 400) return (ended !== undefined && REASONS[ended]) || 'responds with an error';
  return content?.does ?? (body === undefined ? 'sends a body in pieces' : 'answers');
}

function bodyText({ body, contentType, status }: TracedResponse): string | undefined {
  if (hasNoBody(status)) return undefined;
  if (body === undefined || !SHOWN_TYPE.test(contentType) || body.length === 0 || status >= 600)
    return undefined;
  const text = typeof body === 'string' ? body : Buffer.from(body).toString();
  return text.length > MOST_BODY ? `${text.slice(0, MOST_BODY)}…` : text;
}

/** The note on variables that only a running gateway knows: the printed response is an example. */
function exampleOf(steps: readonly TraceStep[]): string | undefined {
  const answering = answeringStep(steps);
  if (answering?.kind !== 'directive') return undefined;
  const names = answering.reads.filter(({ live }) => live).map(({ name }) => `$${name}`);
  return names.length === 0 ? undefined : `${names.join(', ')}: what is shown is an example`;
}

/** The place of the directive that made the response, or made a module do so. */
function placeOfResponse(steps: readonly TraceStep[], input: AccountInput): string {
  const step = answeringStep(steps);
  if (step?.kind === 'directive' && step.answers) return placeText(step.node.name.span);
  return step?.kind === 'phase' ? placeOf(step, { steps, input }) : '';
}

function placeOf(
  { module, deed }: Extract<TraceStep, { kind: 'phase' }>,
  { steps, input: { blocks, loaded } }: Pick<ResponseParts, 'steps' | 'input'>,
): string {
  const entered = steps.findLast(({ kind }) => kind === 'enter');
  const view = entered?.kind === 'enter' ? blocks.view(entered.plan) : undefined;
  return modulePlace(module, { view, loaded, nth: deed?.nth });
}

function answeringStep(steps: readonly TraceStep[]): TraceStep | undefined {
  const at = steps.findLastIndex(({ kind }) => kind === 'answer' || kind === 'closed');
  return steps.slice(0, at).findLast(({ kind }) => kind !== 'log' && kind !== 'end');
}
