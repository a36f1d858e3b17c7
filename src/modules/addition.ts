import { directivesFor, readers } from '../config/index.ts';
import { moduleFor } from '../contract/index.ts';
import {
  markTransformed,
  type BodyFilter,
  type BodyTransform,
  type Exchange,
  Handover,
  mediaTypeTest,
} from '../http/index.ts';

interface AdditionConfig {
  /** URIs without queries, as in nginx; '' adds nothing. */
  readonly before: string;
  readonly after: string;
  readonly types: readonly (readonly string[])[];
}

const HSL = ['http', 'server', 'location'] as const;

const directives = directivesFor<AdditionConfig>()({
  add_before_body: {
    contexts: HSL,
    args: readers.text,
    into: 'before',
    default: '',
    defaultText: '-',
    summary: 'URI whose response is sent before the body; an empty one adds nothing.',
    source: 'nginx ngx_http_addition_module#add_before_body',
  },
  add_after_body: {
    contexts: HSL,
    args: readers.text,
    into: 'after',
    default: '',
    defaultText: '-',
    summary: 'URI whose response is sent after the body; an empty one adds nothing.',
    source: 'nginx ngx_http_addition_module#add_after_body',
  },
  addition_types: {
    contexts: HSL,
    args: readers.mediaTypes,
    into: 'types',
    repeat: 'append',
    default: [['text/html']],
    defaultText: 'text/html',
    summary: 'Media types of the responses that are extended, besides text/html; `*` for all.',
    source: 'nginx ngx_http_addition_module#addition_types',
  },
});

/** Adds the responses to subrequests before and after a body (nginx ngx_http_addition_filter_module). */
export const addition = moduleFor<AdditionConfig>()({
  name: 'addition',
  summary: 'Adds the responses of other locations before and after a body.',
  directives,
  enabled: ({ before, after }) => before !== '' || after !== '',
  compile: (config) => ({ bodyFilter: compileFilter(config) }),
});

function compileFilter({ types, before, after }: AdditionConfig): BodyFilter {
  const hasType = mediaTypeTest(types.flat());
  return {
    wants: (x: Exchange) => x.status === 200 && x.main === x && hasType(x),
    open(x: Exchange) {
      markTransformed(x);
      return new AddingTransform(x, { before, after });
    },
  };
}

/** Sends the subrequests before the first and after the last piece, and passes their responses on as they are received. */
class AddingTransform implements BodyTransform {
  readonly #x: Exchange;
  readonly #uris: Readonly<Record<'before' | 'after', string>>;
  #begun = false;
  #response: Handover | undefined = undefined;

  constructor(x: Exchange, uris: Readonly<Record<'before' | 'after', string>>) {
    this.#x = x;
    this.#uris = uris;
  }

  write(piece: Uint8Array): Uint8Array | AsyncIterable<Uint8Array> {
    return this.#begun ? piece : this.#beginWith(piece);
  }

  async *end(): AsyncIterable<Uint8Array> {
    if (!this.#begun) yield* this.#beginWith(undefined);
    yield* this.#ask(this.#uris.after);
  }

  close(): void {
    this.#response?.close();
  }

  async *#beginWith(piece: Uint8Array | undefined): AsyncIterable<Uint8Array> {
    this.#begun = true;
    yield* this.#ask(this.#uris.before);
    if (piece) yield piece;
  }

  async *#ask(uri: string): AsyncIterable<Uint8Array> {
    if (uri === '') return;
    const response = new Handover();
    this.#response = response;
    void this.#x.subrequest({ uri, keep: (piece) => response.give(piece) }).then(() => response.end());
    yield* response.pieces();
  }
}
