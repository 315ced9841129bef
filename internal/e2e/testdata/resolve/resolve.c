// Looks the name up as libraries in C do, with the flag that most programs give: an
// address of a family only if this machine has one. Built for glibc and for musl.
#include <arpa/inet.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

static void look(const char *label, const char *back, const char *name, int family) {
	struct addrinfo hints = {.ai_family = family, .ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG}, *res;
	char text[NI_MAXHOST];
	int err = getaddrinfo(name, "443", &hints, &res);
	if (err) {
		printf("%s %s\n", label, err == EAI_NONAME ? "none" : gai_strerror(err));
		return;
	}
	getnameinfo(res->ai_addr, res->ai_addrlen, text, sizeof text, NULL, 0, NI_NUMERICHOST);
	printf("%s %s\n", label, text);
	err = getnameinfo(res->ai_addr, res->ai_addrlen, text, sizeof text, NULL, 0, NI_NAMEREQD);
	printf("%s %s\n", back, err ? gai_strerror(err) : text);
}

int main(int argc, char **argv) {
	look("4", "ptr4", argv[1], AF_INET);
	look("6", "ptr6", argv[1], AF_INET6);
	look("evil", "ptr", "evil.test", AF_UNSPEC);
	return 0;
}
