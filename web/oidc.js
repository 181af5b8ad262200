// Signing in with the organisation's identity provider: OpenID Connect's authorization code with PKCE (RFC 7636), for
// a page that can keep no secret. `config.sign_in` is { issuer, client_id, scope }.

const KEPT = "parley.sign_in";
const REFRESH = "parley.refresh";
// Before a token ends, in seconds: an answer has to come in time.
const AHEAD = 60;
const LONGEST_TIMER = 2 ** 31 - 1;

// Leave for the provider. It comes back to this very address.
export async function start({ sign_in: wanted }) {
  const provider = await discover(wanted.issuer);
  const [state, verifier] = [random(), random()];
  sessionStorage.setItem(KEPT, JSON.stringify({ state, verifier, hash: location.hash }));
  const query = new URLSearchParams({
    response_type: "code",
    client_id: wanted.client_id,
    redirect_uri: here(),
    scope: wanted.scope,
    state,
    code_challenge: await challenge(verifier),
    code_challenge_method: "S256",
  });
  const address = new URL(provider.authorization_endpoint);
  for (const [name, value] of query) address.searchParams.set(name, value);
  location.assign(address);
}

// The token, if this is the way back from the provider; else null. Throws in words what the provider refused.
export async function finish({ sign_in: wanted }) {
  const answer = new URLSearchParams(location.search);
  if (!answer.has("state") || !(answer.has("code") || answer.has("error"))) return null;
  const kept = JSON.parse(sessionStorage.getItem(KEPT) ?? "null");
  sessionStorage.removeItem(KEPT);
  // The code is good for once, and for nobody who reads the history.
  history.replaceState(null, "", location.pathname + (kept?.hash ?? ""));
  if (!kept || kept.state !== answer.get("state")) throw new Error("it was begun in another tab. Please try again.");
  if (answer.has("error")) throw new Error(answer.get("error_description") || answer.get("error"));
  return exchange(wanted, {
    grant_type: "authorization_code",
    code: answer.get("code"),
    redirect_uri: here(),
    code_verifier: kept.verifier,
  });
}

// Renew the token before it ends, as long as the provider does; `changed(token)` is told. Gives what ends that, and
// forgets what could renew it.
export function keepFresh({ sign_in: wanted }, token, changed) {
  let timer;
  const plan = (current) => {
    clearTimeout(timer);
    const ends = claims(current).exp;
    if (!ends || !sessionStorage.getItem(REFRESH)) return;
    const pause = Math.max(1, ends - AHEAD - Date.now() / 1000) * 1000;
    timer = setTimeout(() => renew(), Math.min(pause, LONGEST_TIMER));
  };
  const renew = async () => {
    try {
      const next = await exchange(wanted, { grant_type: "refresh_token", refresh_token: sessionStorage.getItem(REFRESH) });
      changed(next);
      plan(next);
    } catch {
      // Not renewed: the next request says that the token has ended, and the person signs in again.
      sessionStorage.removeItem(REFRESH);
    }
  };
  plan(token);
  return () => {
    clearTimeout(timer);
    sessionStorage.removeItem(REFRESH);
  };
}

async function exchange(wanted, fields) {
  const provider = await discover(wanted.issuer);
  const response = await fetch(provider.token_endpoint, {
    method: "POST",
    body: new URLSearchParams({ ...fields, client_id: wanted.client_id }),
  });
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw new Error(answer.error_description || answer.error || `the provider answered ${response.status}.`);
  if (answer.refresh_token) sessionStorage.setItem(REFRESH, answer.refresh_token);
  // Some providers' access tokens are no JWTs, which the API could not read: then the ID token says who it is.
  const token = claims(answer.access_token ?? "").sub ? answer.access_token : answer.id_token;
  if (!token) throw new Error("the provider gave no token that says who you are.");
  return token;
}

async function discover(issuer) {
  const response = await fetch(`${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`);
  if (!response.ok) throw new Error(`the provider at ${issuer} answered ${response.status}.`);
  return response.json();
}

function claims(token) {
  try {
    const payload = token.split(".")[1].replaceAll("-", "+").replaceAll("_", "/");
    return JSON.parse(atob(payload));
  } catch {
    return {};
  }
}

async function challenge(verifier) {
  return base64url(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier))));
}

function random() {
  return base64url(crypto.getRandomValues(new Uint8Array(32)));
}

function base64url(bytes) {
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

function here() {
  return location.origin + location.pathname;
}
