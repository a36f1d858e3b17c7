import { placeOf, type Source } from '../../grammar/index.ts';
import {
  type Finding,
  type Mendable,
  mendableAtOnce,
  mended,
  type Review,
} from '../../src/tools/check/index.ts';
import { type Examination, examine, type Texts } from './examine.ts';
import type { Input } from './inputs.ts';

/** A configuration after its fixes. */
export interface MendedConfig {
  readonly review: Review;
  /** The changed files by absolute path, with their old and new texts. */
  readonly changed: ReadonlyMap<string, { readonly before: Source; readonly text: string }>;
  readonly count: number;
  /** One line for each fix that was not applied because the configuration would no longer load. */
  readonly refused: readonly string[];
}

/** Maximum rounds of fixes. A fix may reveal another finding; the limit stops rules that undo each other's fixes. */
const MAX_ROUNDS = 100;

/** Applies the fixes of a configuration in memory. */
export async function mend(input: Input, examination: Examination, texts: Texts): Promise<MendedConfig> {
  const mending = new Mending(input, examination, texts);
  for (let round = 0; round < MAX_ROUNDS && (await mending.round()); round++);
  return mending.result();
}

class Mending {
  readonly #input: Input;
  readonly #examination: Examination;
  #texts: Map<string, string>;
  #review: Review | undefined;
  #count = 0;
  readonly #before = new Map<string, Source>();
  readonly #refused = new Map<string, string>();

  constructor(input: Input, examination: Examination, texts: Texts) {
    this.#input = input;
    this.#examination = examination;
    this.#texts = new Map(texts);
  }

  /** Applies one round of fixes; false if no fix is left. */
  async round(): Promise<boolean> {
    const review = (this.#review ??= await this.#examine(this.#texts));
    const batch = mendableAtOnce(
      review.findings.filter((finding): finding is Mendable => this.#isWanted(finding)),
    );
    return batch.length > 0 && this.#attempt(batch, review);
  }

  result(): MendedConfig {
    const changed = [...this.#before].flatMap(([path, before]) => {
      const text = this.#texts.get(path) ?? before.text;
      return text === before.text ? [] : [[path, { before, text }] as const];
    });
    return {
      review: this.#review as Review,
      changed: new Map(changed),
      count: this.#count,
      refused: [...this.#refused.values()],
    };
  }

  /** Applies a batch of fixes. If it does harm, it is halved until the harmful fix is found. */
  async #attempt(batch: readonly Mendable[], before: Review): Promise<boolean> {
    const texts = new Map(this.#texts);
    for (const [source, text] of mended(batch)) texts.set(source.path as string, text);
    const after = await this.#examine(texts);
    if (doesHarm(before, after)) {
      if (batch.length > 1) return this.#attempt(batch.slice(0, Math.ceil(batch.length / 2)), before);
      this.#refuse(batch[0] as Mendable, after);
      return true;
    }
    for (const [source] of mended(batch)) {
      const path = source.path as string;
      if (!this.#before.has(path)) this.#before.set(path, source);
    }
    this.#texts = texts;
    this.#review = after;
    this.#count += batch.length;
    return true;
  }

  #isWanted(finding: Finding): boolean {
    const { fix } = finding;
    if (!fix || (!fix.safe && this.#examination.settings.fixes !== 'all')) return false;
    if (this.#refused.has(keyOf(finding))) return false;
    const sources = new Set(this.#review?.sources);
    return fix.edits.every(({ span }) => span.source.path !== undefined && sources.has(span.source));
  }

  #refuse(finding: Mendable, after: Review): void {
    const place = finding.span && placeOf(finding.span);
    const where = place ? ` in ${place.file}:${place.line}:${place.column}` : '';
    const why = after.findings.find(({ refuses }) => refuses)?.message ?? 'it would not load';
    this.#refused.set(
      keyOf(finding),
      `the fix for ${finding.rule} is not made, it would lead to: ${why}${where}`,
    );
  }

  #examine(texts: Texts): Promise<Review> {
    return examine(this.#input, this.#examination, texts);
  }
}

function keyOf({ rule, message, fix }: Finding): string {
  return JSON.stringify([rule, message, fix?.edits.map(({ span, text }) => [span.source.name, text])]);
}

/** True if the configuration no longer loads, or less of it can be read, or more of it is refused. */
function doesHarm(before: Review, after: Review): boolean {
  const refusals = ({ findings }: Review): number => findings.filter(({ refuses }) => refuses).length;
  if (before.tree && !after.tree) return true;
  // A text that could not be read before may have more findings now.
  if (!before.tree && after.tree) return false;
  return refusals(after) > refusals(before);
}
