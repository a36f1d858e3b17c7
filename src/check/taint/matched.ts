import type { DirectiveNode } from '../../../grammar/index.ts';
import type { BlockView } from '../../config/index.ts';
import type { RegexUse } from '../regex/index.ts';
import { ifBlocks } from './if-blocks.ts';
import type { Site } from './site.ts';

/** The patterns of a configuration by the block that they are the condition of, and by their directive. */
export class Conditions {
  readonly #byBlock = new Map<BlockView, RegexUse>();
  readonly #byNode = new Map<DirectiveNode, RegexUse>();

  constructor(uses: readonly RegexUse[]) {
    for (const use of uses) {
      if (use.kind === 'if' || use.kind === 'location') this.#byBlock.set(use.block, use);
      if (use.kind === 'rewrite' || use.kind === 'server_name') this.#byNode.set(use.node, use);
    }
  }

  of(block: BlockView): RegexUse | undefined {
    return this.#byBlock.get(block);
  }

  /** The pattern that `$1` is about at a place; `undefined` where that depends on the request. */
  matchedAt({ block, node, matched }: Site): RegexUse | undefined {
    if (matched) return matched === 'none' ? undefined : matched;
    const own = this.#byNode.get(node);
    if (own) return own;
    let inside: DirectiveNode | undefined;
    for (const around of block.outward()) {
      if (this.#mayMatchBetween(around, inside)) return undefined;
      const condition = this.of(around);
      if (condition && !condition.negated) return condition;
      if (around.context === 'server') return this.#serverName(around);
      inside = around.node;
    }
    return undefined;
  }

  /** The named captures that are set at a place: patterns of the blocks around it, and of rewrites beside it. */
  *around({ block, node, matched }: Site): Generator<RegexUse> {
    if (matched && matched !== 'none') yield matched;
    const own = this.#byNode.get(node);
    if (own) yield own;
    for (const around of block.outward()) {
      const condition = this.of(around);
      if (condition && !condition.negated) yield condition;
      // One name at a time: those are indexed, and a server may have thousands of directives.
      for (const directive of [...around.own('rewrite'), ...around.own('server_name')]) {
        const use = this.#byNode.get(directive);
        if (use) yield use;
      }
    }
  }

  /** Whether another directive of a block with a pattern may have matched before what stands inside it. */
  #mayMatchBetween(block: BlockView, inside: DirectiveNode | undefined): boolean {
    const others = ifBlocks(block).filter((inner) => inner.node !== inside && this.#byBlock.has(inner));
    return others.length > 0 || block.own('rewrite').length > 0;
  }

  #serverName(server: BlockView): RegexUse | undefined {
    const uses = server.own('server_name').flatMap((node) => this.#byNode.get(node) ?? []);
    return uses.length === 1 && server.own('server_name').length === 1 ? uses[0] : undefined;
  }
}
