package lab

import (
	"crypto/subtle"
	"encoding/json"
	"net/http"
	"strings"
)

// routes serves every name: names that begin with "api." as GitHub's API, the
// rest as its git server, and all of them the replies of replies.go.
func (u *Upstream) routes() http.Handler {
	api := http.NewServeMux()
	api.HandleFunc("GET /{$}", u.root)
	api.HandleFunc("GET /user", u.user)
	api.HandleFunc("POST /graphql", u.graphql)
	api.HandleFunc("GET /repos/{owner}/{repo}", u.repository)
	api.HandleFunc("POST /repos/{owner}/{repo}/issues", u.newIssue)
	api.HandleFunc("GET /repos/{owner}/{repo}/{rest...}", u.repository)
	u.addReplies(api)

	site := http.NewServeMux()
	site.HandleFunc("/{owner}/{repo}/info/refs", u.git)
	site.HandleFunc("/{owner}/{repo}/git-upload-pack", u.git)
	site.HandleFunc("/{owner}/{repo}/git-receive-pack", u.git)
	site.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("lab\n")) })
	site.HandleFunc("GET /api/v3/user", u.user) // as an Enterprise server
	site.HandleFunc("POST /api/graphql", u.graphql)
	u.addReplies(site)

	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if u.opt.Log != nil {
			u.opt.Log.Printf("%s %s%s", r.Method, r.Host, r.URL.Path)
		}
		if h := u.site(r); h != nil {
			h.ServeHTTP(w, r)
			return
		}
		if strings.HasPrefix(r.Host, "api.") {
			api.ServeHTTP(w, r)
			return
		}
		site.ServeHTTP(w, r)
	})
}

// authorized reports whether r carries the token in one of the forms that
// GitHub takes, and records it.
func (u *Upstream) authorized(r *http.Request) bool {
	if u.opt.Token == "" {
		return false
	}
	value := r.Header.Get("Authorization")
	_, given, _ := strings.Cut(value, " ")
	if _, password, ok := r.BasicAuth(); ok {
		given = password
	}
	ok := subtle.ConstantTimeCompare([]byte(given), []byte(u.opt.Token)) == 1
	if mark, found := r.Context().Value(authorizedKey{}).(func()); ok && found {
		mark()
	}
	return ok
}

// refused answers 401 as GitHub does and reports whether it did.
func (u *Upstream) refused(w http.ResponseWriter, r *http.Request) bool {
	if u.authorized(r) {
		w.Header().Set("X-Oauth-Scopes", "gist, read:org, repo")
		return false
	}
	message := "Requires authentication"
	if r.Header.Get("Authorization") != "" {
		message = "Bad credentials"
	}
	reply(w, http.StatusUnauthorized, map[string]any{
		"message": message, "documentation_url": "https://docs.github.com/rest"})
	return true
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(body)
}

// root is what gh auth status asks for the token's scopes.
func (u *Upstream) root(w http.ResponseWriter, r *http.Request) {
	if !u.refused(w, r) {
		reply(w, http.StatusOK, map[string]any{"current_user_url": "https://api.github.com/user"})
	}
}

func (u *Upstream) user(w http.ResponseWriter, r *http.Request) {
	if !u.refused(w, r) {
		reply(w, http.StatusOK, map[string]any{"login": u.opt.Login, "id": 1, "type": "User"})
	}
}

// graphql knows one answer: who is asking.
func (u *Upstream) graphql(w http.ResponseWriter, r *http.Request) {
	var query struct {
		Query string `json:"query"`
	}
	if err := json.NewDecoder(r.Body).Decode(&query); err != nil {
		reply(w, http.StatusBadRequest, map[string]any{"message": "Problems parsing JSON"})
		return
	}
	if u.refused(w, r) {
		return
	}
	reply(w, http.StatusOK, map[string]any{"data": map[string]any{
		"viewer": map[string]any{"login": u.opt.Login}}})
}

func (u *Upstream) repository(w http.ResponseWriter, r *http.Request) {
	owner, repo := r.PathValue("owner"), r.PathValue("repo")
	reply(w, http.StatusOK, map[string]any{
		"id": 7, "name": repo, "full_name": owner + "/" + repo, "private": false,
		"path": r.PathValue("rest"), "clone_url": "https://github.com/" + owner + "/" + repo + ".git"})
}

func (u *Upstream) newIssue(w http.ResponseWriter, r *http.Request) {
	if u.refused(w, r) {
		return
	}
	var issue map[string]any
	if err := json.NewDecoder(r.Body).Decode(&issue); err != nil {
		reply(w, http.StatusBadRequest, map[string]any{"message": "Problems parsing JSON"})
		return
	}
	reply(w, http.StatusCreated, map[string]any{"number": 1, "title": issue["title"]})
}
