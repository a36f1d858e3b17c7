import { statSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { TextDocument } from 'vscode-languageserver-textdocument';
import type { Position, Range } from 'vscode-languageserver/node';
import {
  decodeText,
  type DirectiveNode,
  outlineOf,
  type Piece,
  piecesOf,
  readFileBytes,
  type Source,
  type Span,
} from '../../../grammar/index.ts';

const documents = new WeakMap<Source, TextDocument>();

/** The range of a span in the protocol: lines from 0, columns in UTF-16 units. */
export function rangeOf({ source, start, end }: Span): Range {
  const document = documentOf(source);
  return { start: document.positionAt(start), end: document.positionAt(end) };
}

/** The offset of a position, limited to the end of its line and of the text. */
export function offsetAt(source: Source, position: Position): number {
  return documentOf(source).offsetAt(position);
}

/** The path of a `file:` URI; of another URI, such as that of an unsaved document, the URI itself. */
export function pathOf(uri: string): string {
  return uri.startsWith('file:') ? fileURLToPath(uri) : uri;
}

/** The inverse of `pathOf`. */
function uriOf(path: string): string {
  return path.startsWith('/') || /^[A-Za-z]:[\\/]/.test(path) ? pathToFileURL(path).href : path;
}

/** The document of a source; its line index is built once per text. */
function documentOf(source: Source): TextDocument {
  let document = documents.get(source);
  if (!document) documents.set(source, (document = TextDocument.create('', '', 0, source.text)));
  return document;
}

/** Largest file that is read for outlines; the check reports larger ones itself. */
const MAX_FILE_BYTES = 16 * 1024 * 1024;

/** One version of one file. */
export interface TextFile {
  readonly path: string;
  readonly uri: string;
  readonly source: Source;
  /** The client's version number; absent if the document is not open. */
  readonly version?: number | undefined;
  /** The directives as far as they can be recognized. */
  readonly nodes: readonly DirectiveNode[];
  readonly pieces: readonly Piece[];
}

/** An open document with the client's URI. */
interface OpenText {
  readonly path: string;
  readonly uri: string;
  readonly version: number;
  readonly text: string;
}

/** The files of configurations. The text of an open document replaces the one on disk. */
export class Files {
  readonly #knownDirective: (name: string) => boolean;
  readonly #open = new Map<string, TextFile>();
  readonly #saved = new Map<string, { readonly stamp: string; readonly file: TextFile }>();
  /** Number of changes so far. */
  generation = 0;

  constructor(knownDirective: (name: string) => boolean) {
    this.#knownDirective = knownDirective;
  }

  open({ path, uri, version, text }: OpenText): void {
    // A byte order mark becomes a blank, so that offsets stay the same.
    const source = { name: path, text: text.startsWith('\uFEFF') ? ` ${text.slice(1)}` : text };
    this.#open.set(path, new LazyFile({ path, uri, source, version }, this.#knownDirective));
    this.generation++;
  }

  close(path: string): void {
    this.#open.delete(path);
    this.generation++;
  }

  isOpen(path: string): boolean {
    return this.#open.has(path);
  }

  /** The open documents in the order of opening. */
  get opened(): readonly TextFile[] {
    return [...this.#open.values()];
  }

  /** A file; `undefined` if it does not exist or cannot be read. */
  at(path: string): TextFile | undefined {
    return this.#open.get(path) ?? this.#savedAt(path);
  }

  /** The URI of a path in the client's spelling. */
  uriOf(path: string): string {
    return this.#open.get(path)?.uri ?? uriOf(path);
  }

  /** The client's version of an open document. */
  versionOf(path: string): number | undefined {
    return this.#open.get(path)?.version;
  }

  #savedAt(path: string): TextFile | undefined {
    try {
      const { mtimeMs, size } = statSync(path);
      const stamp = `${mtimeMs} ${size}`;
      const known = this.#saved.get(path);
      if (known?.stamp === stamp) return known.file;
      const { text } = decodeText(readFileBytes(path, MAX_FILE_BYTES));
      const file = new LazyFile(
        { path, uri: uriOf(path), source: { name: path, text } },
        this.#knownDirective,
      );
      this.#saved.set(path, { stamp, file });
      return file;
    } catch {
      return undefined;
    }
  }
}

class LazyFile implements TextFile {
  readonly path: string;
  readonly uri: string;
  readonly source: Source;
  readonly version: number | undefined;
  readonly #knownDirective: (name: string) => boolean;
  #nodes: readonly DirectiveNode[] | undefined;
  #pieces: readonly Piece[] | undefined;

  constructor(
    { path, uri, source, version }: Pick<TextFile, 'path' | 'uri' | 'source' | 'version'>,
    knownDirective: (name: string) => boolean,
  ) {
    this.path = path;
    this.uri = uri;
    this.source = source;
    this.version = version;
    this.#knownDirective = knownDirective;
  }

  get nodes(): readonly DirectiveNode[] {
    return (this.#nodes ??= outlineOf(this.source, this.#knownDirective));
  }

  get pieces(): readonly Piece[] {
    return (this.#pieces ??= piecesOf(this.source));
  }
}
