import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { lineOf, type Piece, piecesOf, placeOf, type Span } from '../../../grammar/index.ts';
import { check, type Finding, load } from '../../../src/pipeline.ts';
import { perTier } from '../../harness/tier.ts';

const ROOT = resolve(import.meta.dirname, '../../..');

/** Configurations that users start from. */
const ORIGINALS = ['conf', 'conf/examples', 'test/conf/everyday'].flatMap((folder) =>
  readdirSync(join(ROOT, folder))
    .filter((file) => file.endsWith('.conf'))
    .map((file) => {
      const path = join(ROOT, folder, file);
      const text = readFileSync(path, 'utf8');
      return { path, text, pieces: piecesOf({ name: file, text }).filter(({ kind }) => kind !== 'comment') };
    }),
);
type Original = (typeof ORIGINALS)[number];

interface Mutant {
  readonly text: string;
  /** Whether the configuration has become meaningless. */
  readonly isBroken: boolean;
}

type Mutation = (original: Original, at: number, random: number) => Mutant | undefined;

function replaced({ text }: Original, { start, image }: Piece, by: string): string {
  return text.slice(0, start) + by + text.slice(start + image.length);
}

/** A mutation of piece number `at` among those that `fits` accepts. */
function ofPieces(
  fits: (piece: Piece, pieces: readonly Piece[], index: number) => boolean,
  mutate: (piece: Piece, original: Original, random: number) => string,
  isBroken = false,
): Mutation {
  return (original, at, random) => {
    const { pieces } = original;
    const fitting = pieces.filter((piece, index) => fits(piece, pieces, index));
    const piece = fitting[at % fitting.length];
    return piece && { text: mutate(piece, original, random), isBroken };
  };
}

const ODD_VALUES = [
  '-1',
  '99999999999999999999',
  '""',
  '$',
  '${',
  '${env:}',
  '~(',
  '/a b',
  '\u0000',
  '{',
  '🙂',
  '1h1h',
  '1.2.3.4/99',
];
const odd = (random: number): string => ODD_VALUES[random % ODD_VALUES.length] as string;
const any = (): boolean => true;
const isKind =
  (kind: Piece['kind']) =>
  (piece: Piece): boolean =>
    piece.kind === kind;

/** Opens a directive of gw: a word behind `;`, `{` or `}` that is not a line of a table. */
function isDirective({ kind, value }: Piece, pieces: readonly Piece[], index: number): boolean {
  const before = pieces[index - 1]?.kind;
  return (
    kind === 'word' &&
    before !== 'word' &&
    /^(listen|server|location|root|proxy_pass|return|http)$/.test(value)
  );
}

function isArgument({ kind }: Piece, pieces: readonly Piece[], index: number): boolean {
  return kind === 'word' && pieces[index - 1]?.kind === 'word';
}

const MUTATIONS: Readonly<Record<string, Mutation>> = {
  'a piece is missing': ofPieces(any, (piece, original) => replaced(original, piece, '')),
  'a piece stands twice': ofPieces(any, (piece, original) =>
    replaced(original, piece, `${piece.image} ${piece.image}`),
  ),
  'two pieces are swapped': (original, at, random) => {
    const { pieces, text } = original;
    const [first, second] = [at % pieces.length, random % pieces.length].toSorted((a, b) => a - b);
    const [one, other] = [pieces[first ?? 0] as Piece, pieces[second ?? 0] as Piece];
    if (one === other) return undefined;
    const between = text.slice(one.start + one.image.length, other.start);
    const rest = text.slice(other.start + other.image.length);
    return { text: text.slice(0, one.start) + other.image + between + one.image + rest, isBroken: false };
  },
  'a brace is missing': ofPieces(
    ({ kind }) => kind === '{' || kind === '}',
    (piece, original) => replaced(original, piece, ''),
    true,
  ),
  'a brace too many closes': ofPieces(
    isKind('}'),
    (piece, original) => replaced(original, piece, '} }'),
    true,
  ),
  'a semicolon is missing': ofPieces(isKind(';'), (piece, original) => replaced(original, piece, '')),
  'a directive is misspelt': ofPieces(
    isDirective,
    (piece, original) => replaced(original, piece, `${piece.image}zq`),
    true,
  ),
  'a directive stands in the main context': (original) => ({
    text: `return 200;\n${original.text}`,
    isBroken: true,
  }),
  'a value is odd': ofPieces(isArgument, (piece, original, random) => replaced(original, piece, odd(random))),
  'an argument is too many': ofPieces(isKind(';'), (piece, original, random) =>
    replaced(original, piece, ` ${odd(random)};`),
  ),
  'a variable does not exist': ofPieces(
    ({ image }, pieces, index) =>
      isArgument(pieces[index] as Piece, pieces, index) && /\$[a-z_]+/.test(image),
    (piece, original) => replaced(original, piece, piece.image.replace(/\$[a-z_]+/, '$nosuch_variable')),
  ),
  'a quote is never closed': ({ text }, at) => {
    const end = text.trimEnd().lastIndexOf('\n', at % text.length);
    const start = Math.max(0, end);
    return {
      text: `${text.slice(0, start)}\nadd_header X "y;${text.slice(start).replaceAll(/["'\\]/g, '')}`,
      isBroken: true,
    };
  },
  'the text is cut': ({ text }, at) => ({ text: text.slice(0, at % text.length), isBroken: false }),
  'a character is another': ({ text }, at, random) => {
    const start = at % text.length;
    const character = String.fromCharCode(random % 0x180);
    return { text: text.slice(0, start) + character + text.slice(start + 1), isBroken: false };
  },
};

async function findingsIn({ path }: Original, text: string) {
  const loaded = load({ confFile: path, name: 'gw.conf', prefix: dirname(path), text }, { advise: true });
  return { loaded, findings: await check(loaded) };
}

function expectInside({ source: { text }, ...span }: Span): void {
  expect(span.start).toBeGreaterThanOrEqual(0);
  expect(span.end).toBeGreaterThanOrEqual(span.start);
  expect(span.end).toBeLessThanOrEqual(text.length);
}

/** The place of a finding, its other places and its edits lie in the files that were read. */
function expectPlaced({ message, span, related = [], fix }: Finding): void {
  expect(span, message).toBeDefined();
  if (!span) return;
  for (const each of [
    span,
    ...related.map((other) => other.span),
    ...(fix?.edits ?? []).map((edit) => edit.span),
  ])
    expectInside(each);
  const { line, column } = placeOf(span);
  const { start, end } = lineOf(span);
  expect(line).toBeLessThanOrEqual(span.source.text.split('\n').length);
  expect(column).toBeLessThanOrEqual(end - start + 2);
}

const identity = ({ rule, message }: Finding): string => `${rule} ${message}`;

for (const [name, mutate] of Object.entries(MUTATIONS)) {
  test(`where ${name}, a check ends and every finding has a place`, async () => {
    const picks = fc.tuple(fc.nat({ max: ORIGINALS.length - 1 }), fc.nat(), fc.nat());
    await fc.assert(
      fc.asyncProperty(picks, async ([which, at, random]) => {
        const original = ORIGINALS[which] as Original;
        const mutant = mutate(original, at, random);
        if (!mutant) return;
        const { loaded, findings } = await findingsIn(original, mutant.text);
        for (const finding of findings) {
          expectPlaced(finding);
          expect(finding.message).toMatch(/^\S.*\S$/s);
          expect(finding.message).not.toMatch(/undefined|\[object|NaN/);
        }
        const errors = findings.filter(({ severity }) => severity === 'error');
        if (!loaded.plan) expect(errors).not.toEqual([]);
        if (!mutant.isBroken) return;
        const before = new Set((await findingsIn(original, original.text)).findings.map(identity));
        expect(errors.map(identity).filter((error) => !before.has(error))).not.toEqual([]);
      }),
      { numRuns: perTier({ short: 6, long: 40 }) },
    );
  });
}
