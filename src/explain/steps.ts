import type { DirectiveNode } from '../../grammar/index.ts';
import type { BlockView } from '../config/index.ts';
import type { LocationPlan } from '../plan/index.ts';
import { locationText } from '../plan/index.ts';
import type { AccountStep } from './account.ts';
import type { Telling } from './assemble.ts';
import { levelText } from './effective.ts';
import { searchOf } from './search.ts';
import type { DirectiveStep, OpenQuestion, Read, TraceStep } from './trace.ts';
import { placeText } from './words.ts';

type Phase = Extract<TraceStep, { kind: 'phase' }>;

/** Puts what happened in one round into words. */
export class StepWriter {
  readonly steps: AccountStep[] = [];
  readonly #telling: Telling;
  #place: LocationPlan | undefined;

  constructor(telling: Telling) {
    this.#telling = telling;
  }

  add(step: TraceStep, round: number): void {
    switch (step.kind) {
      case 'enter':
        return this.#enter(step, round);
      case 'directive':
        return this.#directive(step);
      case 'phase':
        return this.#phase(step);
      case 'jump':
        return this.#say('jump', `on to ${this.#masked(step.target)}`, '');
      case 'end':
        if (step.page)
          this.#say('jump', `status ${step.status}: its error page answers`, this.#errorPage(step.status));
        return undefined;
      case 'log':
        return void this.steps.push({ kind: 'log', level: step.level, text: this.#masked(step.message) });
      default:
        return undefined;
    }
  }

  #enter({ plan, uri, internal }: Extract<TraceStep, { kind: 'enter' }>, round: number): void {
    const facts = this.#telling.places.of(plan);
    const before = this.#place;
    this.#place = plan;
    if (facts?.role === 'block') return this.#block(facts.view);
    if (facts?.role === 'server') {
      if (before === undefined) return undefined;
      return this.#found('server', plan, searchOf(plan.locations, uri));
    }
    const { match } = plan;
    if (!match) return undefined;
    if (match.kind === 'named')
      return void this.steps.push({ kind: 'location', text: match.name, place: plan.place });
    this.#found(locationText(match), plan, searchOf(facts?.server.root.locations ?? [], uri, plan), uri);
    void round;
    if (plan.core.internal === true && !internal)
      this.#say(
        'jump',
        '"internal": requests from outside are answered 404',
        placeOfField(facts?.view, 'core', 'internal'),
      );
  }

  #found(
    text: string,
    plan: LocationPlan,
    { candidates, unnamed }: ReturnType<typeof searchOf>,
    uri = '',
  ): void {
    this.steps.push({ kind: 'location', text, place: plan.place, search: { uri, candidates, unnamed } });
  }

  /** The directive of an `if` has said so itself. */
  #block({ context, node }: BlockView): void {
    if (context !== 'limit_except' || !node) return;
    const text = this.#telling.wording.directive(node);
    this.steps.push({
      kind: 'directive',
      text,
      place: placeText(node.name.span),
      in: 'location',
      outcome: 'does not name the method: this block takes the place of the location',
      known: [],
    });
  }

  #directive(step: DirectiveStep): void {
    const place = placeText(step.node.name.span);
    this.steps.push({
      kind: 'directive',
      text: this.#telling.wording.directive(step.node),
      place,
      in: this.#blockOf(step.node),
      outcome: this.#masked(outcomeOf(step)),
      known: step.reads.map((read) => this.#known(read)),
    });
    if (step.open) this.#open(step.open, place);
  }

  #phase({ phase, module, deed, verdict, address, open, reads }: Phase): void {
    const place = this.#placeOfModule(module, phase === 'content');
    const text = [
      deed?.does,
      verdict && (verdict === 'allowed' ? 'lets the request in' : `keeps it out: ${verdict.status}`),
      address && `the client is ${address}`,
    ].filter(Boolean);
    if (phase === 'access' && text.length === 0) text.push('has no opinion');
    const facts = (deed?.facts ?? []).map(({ label, value }) => ({ label, value: this.#masked(value) }));
    const unknown = deed?.unknown ?? liveText(reads);
    this.steps.push({
      kind: 'phase',
      phase,
      module,
      text: this.#masked(text.join('; ')),
      place,
      facts,
      ...(unknown !== undefined && { unknown }),
    });
    if (open) this.#open(open, place);
  }

  #open({ question, options, taken }: OpenQuestion, place: string): void {
    this.steps.push({ kind: 'open', text: question, place, assumed: options[taken] });
  }

  #say(kind: 'jump', text: string, place: string): void {
    this.steps.push({ kind, text, place });
  }

  #known({ name, value, live }: Read): string {
    if (live) return `$${name} is known only to a running gateway`;
    return value === undefined ? `$${name} has no value` : `$${name} = "${this.#masked(value)}"`;
  }

  #masked(text: string): string {
    return this.#telling.wording.masked(text);
  }

  get #view(): BlockView | undefined {
    return this.#place && this.#telling.places.view(this.#place);
  }

  #blockOf(node: DirectiveNode): string {
    for (const block of this.#view?.outward() ?? [])
      if (block.own().includes(node)) return levelText(block, this.#telling.wording);
    return this.#view ? levelText(this.#view, this.#telling.wording) : '';
  }

  #placeOfModule(module: string, isContent: boolean): string {
    const view = this.#view;
    const { loaded } = this.#telling;
    const content = [loaded.modules.find(({ name }) => name === module)?.content ?? []].flat();
    const fields = view ? [...view.from(module)] : [];
    const [, field] =
      (isContent && fields.find(([name]) => content.includes(name))) ||
      fields.find(([, { nodes }]) => nodes.length > 0) ||
      [];
    return placeText(field?.nodes[0]?.name.span);
  }

  #errorPage(status: number): string {
    const field = this.#view?.from('core').get('errorPages');
    const pages = (field?.value ?? []) as readonly { readonly codes: readonly number[] }[];
    const nth = pages.findIndex(({ codes }) => codes.includes(status));
    return placeText(field?.nodes[nth]?.name.span);
  }
}

function placeOfField(view: BlockView | undefined, module: string, field: string): string {
  return placeText(view?.from(module).get(field)?.nodes[0]?.name.span);
}

function liveText(reads: readonly Read[]): string | undefined {
  const live = reads.filter((read) => read.live).map(({ name }) => `$${name}`);
  return live.length === 0 ? undefined : `depends on ${live.join(', ')}`;
}

function outcomeOf({ node, holds, assigned, before, after, end }: DirectiveStep): string {
  const said: string[] = [];
  if (node.block) return holds === true ? 'holds' : 'does not hold';
  if (holds !== undefined) said.push(holds ? 'matches' : 'does not match');
  for (const { name, value, live } of assigned)
    said.push(live ? `$${name} is known only to a running gateway` : `$${name} = "${value}"`);
  if (after.uri !== before.uri || after.args !== before.args) {
    const query = after.args === '' ? '' : `?${after.args}`;
    said.push(`the request is for ${after.uri}${query} now`);
  }
  if (end === 'last') said.push('no more rewrites here');
  if (end === 'break') said.push('ends the rewrites');
  return said.join('; ') || 'answers';
}
