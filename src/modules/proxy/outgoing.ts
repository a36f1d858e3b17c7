import type { ErrorLog } from '../../log/index.ts';
import type { Exchange } from '../../http/index.ts';
import type { AnswerPath } from './answer-path.ts';
import type { ProxyConfig } from './config.ts';
import type { NextRules } from './next.ts';
import type { RequestHead } from './request-head.ts';
import type { Target } from './target.ts';
import type { Upload } from './upload.ts';

/** What all requests of a location share. */
export interface ForwardingRules {
  readonly config: ProxyConfig;
  readonly next: NextRules;
  readonly answers: AnswerPath;
  readonly log: ErrorLog;
  /** `proxy_ssl_name`. */
  readonly sslName: (x: Exchange, target: Target) => string;
}

/** One request as it goes out. */
export interface Outgoing {
  readonly target: Target;
  readonly requestTarget: string;
  readonly head: RequestHead;
  readonly upload: Upload | undefined;
}
