import type { ConfigTree, DirectiveNode, Source, Span } from '../../grammar/index.ts';
import { maskedText, secretSpans } from './dump.ts';
import type { Registry } from './registry.ts';

const INDENT = '    ';

/**
 * The configuration as one text: what `include` brings stands in its place, a comment says from which file, and secrets are
 * masked as the rows say. Words stay as they were written.
 */
export function combinedText(tree: ConfigTree, registry: Registry): string {
  const secrets = secretSpans(tree, registry);
  const lines: string[] = [];
  let file: Source | undefined;
  const writeAll = (nodes: readonly DirectiveNode[], indent: string): void => {
    for (const node of nodes) {
      const { source } = node.name.span;
      if (source !== file) lines.push(`${indent}# ${source.name}`);
      file = source;
      write(node, indent);
    }
  };
  const write = ({ name, args, block, span }: DirectiveNode, indent: string): void => {
    const words = [name, ...args].map((word) => maskedText(word.span, secrets)).join(' ');
    if (!block) return void lines.push(`${indent}${words};`);
    if (block.length === 0) return void lines.push(`${indent}${words} {}`);
    lines.push(`${indent}${words} {`);
    writeAll(block, indent + INDENT);
    file = span.source;
    lines.push(`${indent}}`);
  };
  writeAll(tree.directives, '');
  return lines.map((line) => `${line}\n`).join('');
}

/** The words of a directive behind its name, as they were written but for secrets. */
export function writtenWords({ args }: DirectiveNode, secrets: readonly Span[]): readonly string[] {
  return args.map(({ span }) => maskedText(span, secrets));
}
