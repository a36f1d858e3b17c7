import { type DirectiveNode, placeText } from '../../../grammar/index.ts';
import type { BlockView, Registry } from '../../config/index.ts';
import { isSecretVariable } from '../../contract/index.ts';
import { type LocationPlan, locationText } from '../../plan/index.ts';
import type { AccountStep, EffectiveDirective, ReplacedDirective } from './account.ts';
import { modulePlace, type PlanBlock, type DirectiveText } from './plan-blocks.ts';
import { type Search, searchOf } from './search.ts';
import type { AccountInput } from './server.ts';
import type { DirectiveStep, OpenQuestion, VariableRead, TraceStep } from './tracer.ts';

/** The directives that hold in a block, and the outer directives that do not. */
export interface Effective {
  readonly effective: readonly EffectiveDirective[];
  readonly replaced: readonly ReplacedDirective[];
}

/** Options of `effectiveIn`. */
interface EffectiveOptions {
  readonly registry: Registry;
  readonly texts: DirectiveText;
  /** The modules that are in use in the block. */
  readonly modules: readonly string[];
  /** Directives that the account lists elsewhere. */
  readonly told: ReadonlySet<DirectiveNode>;
}

/** Contexts whose directives concern the process instead of a request. */
const OUTSIDE: ReadonlySet<string> = new Set(['main', 'events', 'upstream']);

/** The directives that hold in a block: its own, then inherited ones from the inside out. */
export function effectiveIn(
  block: BlockView,
  { registry, texts, modules, told }: EffectiveOptions,
): Effective {
  const levels = [...block.outward()].filter(({ context }) => !OUTSIDE.has(context));
  const fields = new Map<string, readonly DirectiveNode[]>();
  for (const owner of registry.owners.filter((name) => modules.includes(name))) {
    for (const [name, { nodes }] of block.from(owner)) {
      // Names and ports of a server are already listed.
      const isPlaces = block.context === 'server' && registry.fields(owner).get(name)?.inherit === false;
      if (!isPlaces) fields.set(`${owner} ${name}`, nodes);
    }
  }
  const holding = new Set([...fields.values()].flat());
  const effective: EffectiveDirective[] = [];
  const replaced: ReplacedDirective[] = [];
  for (const level of levels) {
    const facts = (node: DirectiveNode): Omit<EffectiveDirective, 'inherited'> => ({
      text: texts.directive(node),
      place: placeText(node.name.span),
      level: levelText(level, texts),
    });
    // Blocks are listed where they are used.
    for (const node of level.own().filter((each) => !each.block && !told.has(each))) {
      const by = holding.has(node) ? undefined : replacing(node, { fields, registry, level, block });
      if (holding.has(node)) effective.push({ ...facts(node), inherited: level !== block });
      else if (by) replaced.push({ ...facts(node), by: placeText(by.name.span) });
    }
  }
  return { effective, replaced };
}

interface ReplacedFields {
  readonly fields: ReadonlyMap<string, readonly DirectiveNode[]>;
  readonly registry: Registry;
  readonly level: BlockView;
  readonly block: BlockView;
}

/** The directive that replaces an outer one; `undefined` if the outer one would not be inherited anyway. */
function replacing(
  { name }: DirectiveNode,
  { fields, registry, level, block }: ReplacedFields,
): DirectiveNode | undefined {
  if (level === block) return undefined;
  for (const { owner, row } of registry.named(name.value)) {
    if (row.into === undefined || registry.fields(owner).get(row.into)?.inherit === false) continue;
    const [by] = fields.get(`${owner} ${row.into}`) ?? [];
    if (by) return by;
  }
  return undefined;
}

/** The text of a block: `location /a`, `server`. */
function levelText({ context, node }: BlockView, texts: DirectiveText): string {
  return node && node.args.length > 0 ? texts.directive(node).replace(/ \{ … \}$/, '') : context;
}

type Phase = Extract<TraceStep, { kind: 'phase' }>;

/** Writes the steps of one round as text. */
export class StepWriter {
  readonly steps: AccountStep[] = [];
  readonly #input: AccountInput;
  #place: LocationPlan | undefined;

  constructor(input: AccountInput) {
    this.#input = input;
  }

  add(step: TraceStep): void {
    switch (step.kind) {
      case 'enter':
        return this.#enter(step);
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
      case 'closed':
      case 'answer':
        return undefined;
    }
  }

  #enter({ plan, uri, internal }: Extract<TraceStep, { kind: 'enter' }>): void {
    const facts = this.#input.blocks.of(plan);
    const before = this.#place;
    this.#place = plan;
    if (facts?.role === 'block') return this.#block(facts, plan, uri);
    if (facts?.role === 'server') {
      if (before === undefined) return undefined;
      return this.#found('server', plan, { uri, ...searchOf(plan.locations, uri) });
    }
    const { match } = plan;
    if (!match) return undefined;
    if (match.kind === 'named')
      return void this.steps.push({ kind: 'location', text: match.name, place: plan.place });
    this.#found(locationText(match), plan, {
      uri,
      ...searchOf(facts?.server.root.locations ?? [], uri, plan),
    });
    if (plan.core.internal === true && !internal)
      this.#say(
        'jump',
        '"internal": requests from outside are answered 404',
        placeOfField(facts?.view, 'core', 'internal'),
      );
  }

  #found(text: string, plan: LocationPlan, { uri, candidates, unnamed }: Search & { uri: string }): void {
    this.steps.push({ kind: 'location', text, place: plan.place, search: { uri, candidates, unnamed } });
  }

  /** Adds the step for a block. An `if` needs none, because its directive has one. */
  #block({ view: { context, node, outer }, server }: PlanBlock, { match }: LocationPlan, uri: string): void {
    if (context !== 'limit_except' || !node || !match) return;
    const { candidates, unnamed } = searchOf(server.root.locations, uri);
    const around = placeText(outer?.node?.name.span);
    this.steps.push({
      kind: 'location',
      text: locationText(match),
      place: around,
      ...(match.kind !== 'named' && { search: { uri, candidates, unnamed } }),
    });
    const text = this.#input.texts.directive(node);
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
      text: `${step.of === undefined ? '' : `for "${step.of}", `}${this.#input.texts.directive(step.node)}`,
      place,
      in: this.#blockOf(step.node),
      outcome: this.#masked(outcomeOf(step)),
      known: step.reads.map((read) => this.#known(read)),
    });
    if (step.open) this.#open(step.open, place);
  }

  #phase({ phase, module, deed, verdict, address, open, reads }: Phase): void {
    const place = modulePlace(module, { view: this.#view, loaded: this.#input.loaded, nth: deed?.nth });
    const text = [
      deed?.does,
      verdict && !open && (verdict === 'allowed' ? 'allows it' : `denies it with ${verdict.status}`),
      address && `the client is ${address}`,
    ].filter(Boolean);
    if (phase === 'access' && text.length === 0) text.push('has no opinion');
    const facts = (deed?.facts ?? []).map(({ label, value }) => ({ label, value: this.#masked(value) }));
    const unknown = open ? undefined : (deed?.unknown ?? liveText(reads));
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

  #known({ name, value, live }: VariableRead): string {
    if (live) return `$${name} is known only to a running gateway`;
    if (value === undefined) return `$${name} has no value`;
    return isSecretVariable(name) ? `$${name} is not shown` : `$${name} = "${this.#masked(value)}"`;
  }

  #masked(text: string): string {
    return this.#input.texts.masked(text);
  }

  get #view(): BlockView | undefined {
    return this.#place && this.#input.blocks.view(this.#place);
  }

  #blockOf(node: DirectiveNode): string {
    for (const block of this.#view?.outward() ?? [])
      if (block.own().includes(node)) return levelText(block, this.#input.texts);
    return this.#view ? levelText(this.#view, this.#input.texts) : '';
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

function liveText(reads: readonly VariableRead[]): string | undefined {
  const live = reads.filter((read) => read.live).map(({ name }) => `$${name}`);
  return live.length === 0 ? undefined : `depends on ${live.join(', ')}`;
}

function outcomeOf({ node, holds, assigned, before, after, end, answers }: DirectiveStep): string {
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
  if (answers) said.push('answers');
  return said.join('; ') || 'changes nothing';
}
