import {
  type ApiDescription,
  type ApiLocation,
  type ApiResource,
  DATA_PATHS,
  type Trial,
  type TrialOutcome,
} from '../../contract.ts';
import { write } from '../api.ts';
import { h, labelled, primaryButton, show, textInput } from '../dom.ts';
import { headerLines, readClaims, readHeaderLines } from '../trial-text.ts';
import { outcomeCards } from './trial-outcome.ts';
import { takesBody, template } from './try-form.ts';

/** The fields for the role and the claims, which keep their values when another resource is chosen. */
export class Persona {
  readonly role: HTMLSelectElement;
  readonly claims = h('textarea', {
    rows: 3,
    spellcheck: 'false',
    'aria-label': 'Claims as JSON',
    placeholder: '{"sub": "ann"}',
  });

  constructor({ roles }: ApiDescription) {
    const options = roles.map(({ name, bypassesRowSecurity }) =>
      h('option', { value: name }, bypassesRowSecurity ? `${name} (bypasses row security)` : name),
    );
    this.role = h('select', { 'aria-label': 'Role' }, ...options);
  }
}

interface TrialSubject {
  readonly api: ApiLocation;
  readonly resource: ApiResource;
  readonly persona: Persona;
}

/** A form that tries requests for one table or function and shows the outcome. */
export class TrialForm {
  readonly element: HTMLElement;
  readonly #subject: TrialSubject;
  readonly #method: HTMLSelectElement;
  readonly #target = textInput('Path');
  readonly #headers = h('textarea', { rows: 3, spellcheck: 'false', 'aria-label': 'Headers' });
  readonly #body = h('textarea', { rows: 5, spellcheck: 'false', 'aria-label': 'Body' });
  readonly #bodyField = labelled('body', this.#body);
  readonly #outcome = h('div', { class: 'outcome', 'aria-live': 'polite' });
  readonly #buttons: readonly HTMLButtonElement[];

  constructor(subject: TrialSubject) {
    this.#subject = subject;
    const methods = subject.resource.methods.map((word) => h('option', {}, word));
    this.#method = h('select', { 'aria-label': 'Method', onchange: () => this.#suggest() }, ...methods);
    const explain = h('button', { type: 'button', onclick: () => void this.#try(false) }, 'Explain');
    this.#buttons = [explain, primaryButton('Try, then roll back')];
    this.element = h('div', { class: 'stack' }, this.#form(), this.#outcome);
    this.#suggest();
  }

  #form(): HTMLElement {
    const { persona } = this.#subject;
    return h(
      'form',
      {
        class: 'card trial',
        onsubmit: (event: Event) => {
          event.preventDefault();
          void this.#try(true);
        },
      },
      h(
        'div',
        { class: 'trial-choice' },
        labelled('method', this.#method),
        labelled('path and query', this.#target),
        labelled('role', persona.role),
      ),
      h(
        'div',
        { class: 'trial-texts' },
        labelled('claims, as JSON', persona.claims),
        labelled('headers, one per line', this.#headers),
      ),
      this.#bodyField,
      h('div', { class: 'line end' }, ...this.#buttons),
    );
  }

  /** Presets path, headers and body for another method. */
  #suggest(): void {
    const { api, resource } = this.#subject;
    const method = this.#method.value;
    const range = resource.kind === 'table' && method === 'GET' ? '?limit=10' : '';
    this.#target.value = `${api.path ?? ''}${resource.path}${range}`;
    this.#headers.value = headerLines(resource, method);
    this.#body.value = template(resource, method);
    this.#bodyField.hidden = !takesBody(method);
  }

  async #try(runs: boolean): Promise<void> {
    for (const button of this.#buttons) button.disabled = true;
    try {
      show(this.#outcome, ...outcomeCards(await write<TrialOutcome>(DATA_PATHS.apis, this.#trial(runs))));
    } catch (error) {
      show(this.#outcome, h('p', { class: 'notice failed', role: 'alert' }, (error as Error).message));
    } finally {
      for (const button of this.#buttons) button.disabled = false;
    }
  }

  #trial(runs: boolean): Trial {
    const { api, persona } = this.#subject;
    const method = this.#method.value;
    return {
      api: api.id,
      role: persona.role.value,
      claims: readClaims(persona.claims.value),
      method,
      target: this.#target.value.trim(),
      headers: readHeaderLines(this.#headers.value),
      body: takesBody(method) ? this.#body.value.trim() : '',
      runs,
    };
  }
}
