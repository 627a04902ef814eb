import type { FastifyInstance, FastifyRequest, onRequestHookHandler } from 'fastify';
import type { Authenticator } from '../../auth/authenticator.ts';
import type { Caller, ClientCaller, CustomerCaller } from '../../core/caller.ts';

/** Whose token opens the routes of a scope; null where none is needed. */
export type TokenKind = 'project' | 'customer' | 'client' | null;

/** Gives requests their callers, in one shape whether or not the route asks for one. */
export function addCallers(app: FastifyInstance): void {
  app.decorate('tokenKind', null);
  app.decorateRequest('caller', null as unknown as Caller);
  app.decorateRequest('customer', null as unknown as CustomerCaller);
  app.decorateRequest('client', null as unknown as ClientCaller);
}

/** Everything in the scope needs a project's token. Comes before the body is read. */
export function requireProject(scope: FastifyInstance, authenticator: Authenticator): void {
  scope.decorate('tokenKind', 'project');
  scope.addHook(
    'onRequest',
    authentication(
      (header) => authenticator.authenticate(header),
      (request, caller: Caller) => {
        request.caller = caller;
      },
    ),
  );
}

/** Everything in the scope needs a customer's token. */
export function requireCustomer(scope: FastifyInstance, authenticator: Authenticator): void {
  scope.decorate('tokenKind', 'customer');
  scope.addHook(
    'onRequest',
    authentication(
      (header) => authenticator.authenticateCustomer(header),
      (request, customer: CustomerCaller) => {
        request.customer = customer;
      },
    ),
  );
}

/** Everything in the scope needs a client token, which a browser holds. */
export function requireClient(scope: FastifyInstance, authenticator: Authenticator): void {
  scope.decorate('tokenKind', 'client');
  scope.addHook(
    'onRequest',
    authentication(
      (header) => authenticator.authenticateClient(header),
      (request, client: ClientCaller) => {
        request.client = client;
        request.caller = client;
      },
    ),
  );
}

/** No promise is made where the answer is known at once: that is the way of nearly every request. */
function authentication<C extends object>(
  authenticate: (header: string | undefined) => C | Promise<C>,
  accept: (request: FastifyRequest, caller: C) => void,
): onRequestHookHandler {
  return (request, _reply, next) => {
    const answer = authenticate(request.headers.authorization);
    if (answer instanceof Promise) {
      answer.then((caller) => {
        accept(request, caller);
        next();
      }, next);
    } else {
      accept(request, answer);
      next();
    }
  };
}
